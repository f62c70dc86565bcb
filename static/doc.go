// Package static holds the style sheets, signs and script modules of the page, embedded in the
// program. They need no build step and load nothing from elsewhere. Package server serves them under
// /static/, bundled and shortened when the program starts, and package web links to them.
package static
