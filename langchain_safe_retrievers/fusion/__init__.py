"""Fusers, one file each: a leg's ranked list in, each hit's contribution to the fused score out."""
