package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"highwater/cluster/event"
	"highwater/viz/explain"
	"highwater/viz/model"
	"highwater/viz/trace"
)

// passport prints the way of one record, as far as the trace, or its part up to --to, tells it.
func (f *showFlags) passport(name string, stdout, stderr io.Writer) int {
	told, err := f.readPassport(name)
	if err != nil {
		complain(stderr, "%s: %v", name, err)
		return exitBadInput
	}
	if f.json {
		err = json.NewEncoder(stdout).Encode(told)
	} else {
		err = printPassport(stdout, told)
	}
	if err != nil {
		complain(stderr, "%v", err)
		return exitMistakes
	}
	return exitGood
}

func (f *showFlags) readPassport(name string) (*explain.Passport, error) {
	film, err := openFilm(name)
	if err != nil {
		return nil, err
	}
	_, at := film.Range()
	if f.to > 0 {
		at = min(at, event.Seq(f.to))
	}
	var of explain.Record
	if f.key != "" {
		of, err = explain.Find(film, f.key, at)
	} else {
		of, err = parseRecord(f.record)
	}
	if err != nil {
		return nil, err
	}
	return explain.PassportOf(film, of, at)
}

// openFilm reads a whole trace as a recording.
func openFilm(name string) (*explain.Film, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() // it is only read
	read, err := trace.ReadAll(file)
	if err != nil {
		return nil, err
	}
	before := model.New()
	if read.Keyframe != nil {
		if before, err = model.Restore(read.Keyframe); err != nil {
			return nil, err
		}
	}
	return explain.NewFilm(before, read.Chunk), nil
}

// parseRecord reads orders-0@1. Topic names may hold dashes themselves.
func parseRecord(text string) (explain.Record, error) {
	of := explain.Record{Epoch: explain.AnyEpoch}
	place, offset, found := strings.Cut(text, "@")
	offset, epoch, named := strings.Cut(offset, "/")
	dash := strings.LastIndexByte(place, '-')
	wrong := fmt.Errorf("%q names no record; orders-0@1 is the one at offset 1 of orders-0", text)
	if !found || dash <= 0 {
		return of, wrong
	}
	partition, err := strconv.ParseInt(place[dash+1:], 10, 32)
	at, err2 := strconv.ParseInt(offset, 10, 64)
	if err != nil || err2 != nil || partition < 0 || at < 0 {
		return of, wrong
	}
	of.Topic, of.Partition, of.Offset = place[:dash], int32(partition), event.Offset(at)
	if named {
		n, err := strconv.ParseInt(epoch, 10, 32)
		if err != nil || n < 0 {
			return of, fmt.Errorf("%q is no leader epoch; orders-0@1/0 is the record of epoch 0", epoch)
		}
		of.Epoch = event.Epoch(n)
	}
	return of, nil
}

func printPassport(w io.Writer, p *explain.Passport) error {
	out := &strings.Builder{}
	fmt.Fprintf(out, "%s-%d offset %d, leader epoch %d", p.Topic, p.Partition, p.Offset, p.Epoch)
	if p.Key != "" {
		fmt.Fprintf(out, ", key %s", p.Key)
	}
	fmt.Fprintf(out, "\nfate: %s\n  %s\n", p.Fate, p.FateText)
	for _, s := range p.Steps {
		fmt.Fprintf(out, "%7d %12s  %s\n", s.Seq, time.Duration(s.At).Round(time.Microsecond), s.Text)
	}
	for _, s := range p.NotYet {
		fmt.Fprintf(out, "%7d %12s  not yet: %s\n", s.Seq, time.Duration(s.At).Round(time.Microsecond),
			s.Text)
	}
	_, err := io.WriteString(w, escaped(out.String()))
	return err
}

// escaped shows what would command a terminal as escapes: keys and values are anybody's bytes.
func escaped(text string) string {
	isSafe := func(r rune) bool { return r == '\n' || unicode.IsPrint(r) }
	if !strings.ContainsFunc(text, func(r rune) bool { return !isSafe(r) }) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if isSafe(r) {
			out.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	return out.String()
}
