package highwater_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// licences are the ones that a dependency may have, and a sentence that only that licence says.
var licences = []struct{ name, sentence string }{
	{"Apache-2.0", "Apache License"},
	{"MPL-2.0", "Mozilla Public License"},
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"BSD", "Redistribution and use in source and binary forms"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software"},
	{"ISC", "Permission to use, copy, modify, and distribute this software"},
}

// forbidden are words of licences that would bind whoever passes Highwater on.
var forbidden = []string{"GNU GENERAL PUBLIC LICENSE", "GNU AFFERO GENERAL PUBLIC LICENSE",
	"Server Side Public License", "Business Source License"}

// dependencies are the modules that code or tests of the module in dir are built from.
func dependencies(t *testing.T, dir string) map[string]string {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-test", "-json=Module", "./...")
	list.Dir = dir
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list in %s: %v", dir, err)
	}
	found := map[string]string{}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p struct {
			Module *struct {
				Path, Dir string
				Main      bool
			}
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Module != nil && !p.Module.Main {
			found[p.Module.Path] = p.Module.Dir
		}
	}
}

// licenceOf names the licence of the module in dir, or is empty.
func licenceOf(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		if !strings.HasPrefix(upper, "LICEN") && !strings.HasPrefix(upper, "COPYING") ||
			e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		folded := strings.Join(strings.Fields(string(text)), " ")
		for _, word := range forbidden {
			if strings.HasPrefix(folded, word) {
				return ""
			}
		}
		for _, l := range licences {
			if strings.Contains(folded, l.sentence) {
				name = l.name
				break
			}
		}
	}
	return name
}

func TestDependenciesHaveLicencesThatBindNobody(t *testing.T) {
	for _, dir := range []string{".", "cmd/bench", "cmd/probe"} {
		for path, at := range dependencies(t, dir) {
			if at == "" {
				t.Errorf("%s is not in the module cache: go mod download", path)
				continue
			}
			if name := licenceOf(t, at); name == "" {
				t.Errorf("%s has no licence file, or one that is not allowed", path)
			} else {
				t.Logf("%-12s %s", name, path)
			}
		}
	}
}
