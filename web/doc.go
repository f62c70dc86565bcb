// Package web draws the pages of Highwater as they are before any script runs: the frame of the
// stage, its controls, legend and error states. It knows no cluster, no HTTP and no events; package
// server fills its view models and serves what it renders, and the modules of package static take
// the page over from there.
//
//go:generate go tool templ generate -path ..
package web
