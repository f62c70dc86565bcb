// Package cleaner compacts one partition's closed segments: it decides whether a log is dirty
// enough, learns the newest offset of each key, and rewrites the segments with the newest record of
// each key at its old offset. It is not the schedule, which is the broker's, and it swaps nothing:
// cluster/commitlog does, on the loop. A Pass begins on the loop and runs beside it.
package cleaner
