// Package model is the pure fold from events to the state that the page draws; it does no I/O,
// knows no clock and decides nothing. The hub folds live events with it, and static/js/model is
// the same fold in the browser: both give equal JSON for equal events.
package model
