"""The path of a camera from points that its frames have in common.

Points are in pixels from the middle of the picture, so that a focal length is all that is left of the intrinsics.
"""
