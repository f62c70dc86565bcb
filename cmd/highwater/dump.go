package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"highwater/cluster/commitlog"
	"highwater/cluster/disk"
)

// dumper prints log files, and checks directories when asked to.
type dumper struct {
	json, check bool
	out         *bufio.Writer
	wrong       bool
}

// dumpCommand prints what log files hold, in the words of Kafka's own dump tool.
func dumpCommand(args []string, stdout, stderr io.Writer) int {
	d := &dumper{out: bufio.NewWriter(stdout)}
	set := newFlags("dump", "FILE|DIR… [--json] [--check]", stderr)
	set.BoolVar(&d.json, "json", false, "print one JSON object a batch")
	set.BoolVar(&d.check, "check", false, "also compare each partition's files with each other")
	rest, code, ok := parseMixed(set, args)
	if !ok {
		return code
	}
	if len(rest) == 0 {
		set.Usage()
		return exitBadInput
	}
	for _, name := range rest {
		if err := d.path(name); err != nil {
			complain(stderr, "%v", err)
			code = exitBadInput
		}
	}
	if err := d.out.Flush(); err != nil {
		complain(stderr, "%v", err)
		return exitMistakes
	}
	if d.wrong {
		code = max(code, exitMistakes)
	}
	return code
}

func (d *dumper) path(name string) error {
	found, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !found.IsDir() {
		return d.file(name)
	}
	return d.directory(name)
}

// directory dumps a partition's directory, or every one below it.
func (d *dumper) directory(name string) error {
	entries, err := os.ReadDir(name)
	if err != nil {
		return err
	}
	segments, problems := false, error(nil)
	for _, entry := range entries {
		path := filepath.Join(name, entry.Name())
		switch {
		case entry.IsDir():
			problems = errors.Join(problems, d.directory(path))
		case filepath.Ext(path) == ".log":
			segments = true
			problems = errors.Join(problems, d.file(path))
		}
	}
	if segments && d.check {
		problems = errors.Join(problems, d.checkPartition(name))
	}
	return problems
}

// checkPartition compares a partition's files with each other.
func (d *dumper) checkPartition(name string) error {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	files, err := disk.NewReal(filepath.Dir(absolute), disk.Options{})
	if err != nil {
		return err
	}
	for problem := range commitlog.Check(files, filepath.Base(absolute)) {
		d.wrong = true
		if err := d.problem(name, problem.String()); err != nil {
			return errors.Join(err, files.Close())
		}
	}
	return files.Close()
}

func (d *dumper) problem(name, text string) error {
	if d.json {
		return json.NewEncoder(d.out).Encode(map[string]string{"directory": name, "problem": text})
	}
	_, err := fmt.Fprintf(d.out, "PROBLEM in %s: %s\n", name, text)
	return err
}

// dumpable are the files that a name may mean.
func dumpable() []string { return []string{".log", ".checkpoint"} }

func (d *dumper) file(name string) error {
	if !slices.Contains(dumpable(), filepath.Ext(name)) {
		return fmt.Errorf("%s: only %s files hold batches", name, strings.Join(dumpable(), " and "))
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close() // it is only read
	if !d.json {
		fmt.Fprintf(d.out, "Dumping %s\n", name) // an error stays in the writer until Flush
	}
	return d.batches(name, bufio.NewReaderSize(file, 1<<16))
}
