package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// kafka runs Apache Kafka's own command-line tools.
type kafka struct {
	libs string
	log  string // log4j's configuration
}

// classes are the tools by the names of their shell scripts.
var classes = map[string]string{
	"topics":              "org.apache.kafka.tools.TopicCommand",
	"console-producer":    "org.apache.kafka.tools.ConsoleProducer",
	"console-consumer":    "org.apache.kafka.tools.consumer.ConsoleConsumer",
	"get-offsets":         "org.apache.kafka.tools.GetOffsetShell",
	"broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
	"configs":             "org.apache.kafka.tools.ConfigCommand",
	"dump-log":            "org.apache.kafka.tools.DumpLogSegments",
	"producer-perf-test":  "org.apache.kafka.tools.ProducerPerformance",
	"transactions":        "org.apache.kafka.tools.TransactionsCommand",
}

// findKafka has Maven fetch the jars into the user's cache, once.
func findKafka(ctx context.Context, o options) (*kafka, error) {
	k := &kafka{libs: o.libs, log: filepath.Join(o.source, "log4j2.yaml")}
	if k.libs != "" {
		return k, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	k.libs = filepath.Join(cache, "highwater", "kafka-4.4.0")
	if _, err := os.Stat(filepath.Join(k.libs, ".complete")); err == nil {
		return k, nil
	}
	for _, need := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(need); err != nil {
			return nil, errors.New(need + " is not installed: " +
				"apt-get install openjdk-17-jre-headless maven kcat")
		}
	}
	// Maven builds in the folder of the pom, which is not to gain anything.
	pom, err := os.ReadFile(filepath.Join(o.source, "pom.xml"))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(k.libs, 0o755); err != nil {
		return nil, err
	}
	copied := filepath.Join(k.libs, "pom.xml")
	if err := os.WriteFile(copied, pom, 0o644); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "mvn", "-q", "-B", "-ntp", "-f", copied,
		"dependency:copy-dependencies", "-DoutputDirectory="+k.libs)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("fetching Kafka's jars: %w\n%s", err, out)
	}
	return k, os.WriteFile(filepath.Join(k.libs, ".complete"), nil, 0o644)
}

// tool runs one of Kafka's tools and returns what it printed on standard output.
func (k *kafka) tool(ctx context.Context, input, name string, args ...string) (string, error) {
	// A tool lives for a second: compiling its code well would take longer than running it.
	java := []string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-XX:+PerfDisableSharedMem", "-Xshare:auto", "-Dlog4j2.configurationFile=" + k.log,
		"-cp", filepath.Join(k.libs, "*"), classes[name]}
	return run(ctx, input, "java", append(java, args...)...)
}

// run returns what a program printed; when it failed, the error holds all it said.
func run(ctx context.Context, input, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(input)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w\n%s%s", filepath.Base(name), err,
			tail(out.String()), tail(problems.String()))
	}
	return out.String(), nil
}

// tail keeps the end of a long text, where a program says why it failed.
func tail(text string) string {
	const most = 2000
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}
