// Package lesson holds the worlds of lessons: a scenario that runs step by step on a cluster of its
// own, and free play from any of its steps. It draws nothing and serves nothing: what happened is
// in each world's hub, and where the lesson stands is a plain value.
package lesson
