"""Optical flow, realised camera motion and cuts."""
