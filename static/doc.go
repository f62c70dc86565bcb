// Package static holds the style sheets, signs and script modules of the page, embedded in the
// program. They need no build step and load nothing from elsewhere; package server serves them
// under /static/, and package web links to them.
package static
