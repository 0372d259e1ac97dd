"""Accountants: what events cost together, by several theories; the smallest valid answer counts."""
