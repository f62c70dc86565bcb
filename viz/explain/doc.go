// Package explain answers from what was recorded why a value of a cluster is what it is, why it has
// not moved yet, and what became of one record. It knows events and their fold and nothing else, so
// that every sentence it says can be traced to the event that it rests on.
package explain
