package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// toolChecks let Kafka's tools do what a person does with a new cluster.
var toolChecks = []check{
	{"topics-create", createTopics},
	{"topics-list", listTopics},
	{"topics-describe", describeTopics},
	{"console-producer", produceFromConsole},
	{"console-consumer", consumeToConsole},
	{"get-offsets", getOffsets},
	{"broker-api-versions", brokerVersions},
	{"configs-describe-topic", describeTopicConfigs},
	{"configs-describe-broker", describeBrokerConfigs},
}

func (l *lab) tool(ctx context.Context, input, name string, args ...string) (string, error) {
	at := append([]string{"--bootstrap-server", l.server.bootstrap()}, args...)
	return l.kafka.tool(ctx, input, name, at...)
}

// expectLines fails unless text has exactly these lines, blank ones aside.
func expectLines(text string, want ...string) error {
	var got []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \r\n"); line != "" {
			got = append(got, line)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		return fmt.Errorf("expected\n%s\ngot\n%s", strings.Join(want, "\n"),
			strings.Join(got, "\n"))
	}
	return nil
}

func createTopics(ctx context.Context, l *lab) error {
	out, err := l.tool(ctx, "", "topics", "--create", "--topic", "t-orders", "--partitions", "3",
		"--replication-factor", "3", "--config", "min.insync.replicas=2")
	if err != nil {
		return err
	}
	if err := expectLines(out, "Created topic t-orders."); err != nil {
		return err
	}
	out, err = l.tool(ctx, "", "topics", "--create", "--topic", "t-strict",
		"--replica-assignment", "1:3,3:1", "--config", "min.insync.replicas=2")
	if err != nil {
		return err
	}
	if err := expectLines(out, "Created topic t-strict."); err != nil {
		return err
	}
	if _, err = l.tool(ctx, "", "topics", "--create", "--topic", "t-orders"); err == nil {
		return fmt.Errorf("a topic could be created twice")
	}
	if !strings.Contains(err.Error(), "Topic 't-orders' already exists.") {
		return fmt.Errorf("a topic that exists gives another error than Kafka's: %w", err)
	}
	return nil
}

func listTopics(ctx context.Context, l *lab) error {
	out, err := l.tool(ctx, "", "topics", "--list", "--exclude-internal")
	if err != nil {
		return err
	}
	return expectLines(out, "t-orders", "t-strict")
}

var (
	topicID = regexp.MustCompile(`TopicId: [A-Za-z0-9_-]{22}\t`)
	epochs  = regexp.MustCompile(`\s+$`)
)

func describeTopics(ctx context.Context, l *lab) error {
	out, err := l.tool(ctx, "", "topics", "--describe", "--topic", "t-strict")
	if err != nil {
		return err
	}
	if !topicID.MatchString(out) {
		return fmt.Errorf("no topic id in\n%s", out)
	}
	out = topicID.ReplaceAllString(epochs.ReplaceAllString(out, ""), "TopicId: ID\t")
	err = expectLines(out,
		"Topic: t-strict\tTopicId: ID\tPartitionCount: 2\tReplicationFactor: 2\t"+
			"Configs: min.insync.replicas=2",
		"\tTopic: t-strict\tPartition: 0\tLeader: 1\tReplicas: 1,3\tIsr: 1,3\tElr: \tLastKnownElr:",
		"\tTopic: t-strict\tPartition: 1\tLeader: 3\tReplicas: 3,1\tIsr: 3,1\tElr: \tLastKnownElr:")
	if err != nil {
		return err
	}
	out, err = l.tool(ctx, "", "topics", "--describe", "--under-replicated-partitions")
	if err != nil {
		return err
	}
	return expectLines(out)
}

// consoleLines are what goes through the console tools: an empty value and no key among them.
var consoleLines = []string{"order-1:paid", "order-2:shipped", "order-3:", "order-3:lost"}

func produceFromConsole(ctx context.Context, l *lab) error {
	_, err := l.tool(ctx, strings.Join(consoleLines, "\n")+"\n", "console-producer",
		"--topic", "t-strict", "--command-property", "acks=all",
		"--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
	return err
}

func consumeToConsole(ctx context.Context, l *lab) error {
	var got []string
	for _, partition := range []string{"0", "1"} {
		out, err := l.tool(ctx, "", "console-consumer", "--topic", "t-strict",
			"--partition", partition, "--offset", "earliest", "--timeout-ms", "4000",
			"--formatter-property", "print.key=true",
			"--formatter-property", "key.separator=:")
		if err != nil {
			return err
		}
		for line := range strings.Lines(out) {
			got = append(got, strings.TrimRight(line, "\n"))
		}
	}
	for _, want := range consoleLines {
		if !contains(got, want) {
			return fmt.Errorf("%q was not read back; these were: %q", want, got)
		}
	}
	if len(got) != len(consoleLines) {
		return fmt.Errorf("%d records were written and %d read: %q", len(consoleLines), len(got),
			got)
	}
	return nil
}

func contains(list []string, want string) bool {
	for _, s := range list {
		if s == want {
			return true
		}
	}
	return false
}

func getOffsets(ctx context.Context, l *lab) error {
	out, err := l.tool(ctx, "", "get-offsets", "--topic", "t-strict", "--time", "earliest")
	if err != nil {
		return err
	}
	if err := expectLines(out, "t-strict:0:0", "t-strict:1:0"); err != nil {
		return err
	}
	out, err = l.tool(ctx, "", "get-offsets", "--topic", "t-strict", "--time", "latest")
	if err != nil {
		return err
	}
	sum, lines := 0, 0
	for line := range strings.Lines(out) {
		var partition, offset int
		if _, err := fmt.Sscanf(line, "t-strict:%d:%d\n", &partition, &offset); err != nil {
			return fmt.Errorf("get-offsets printed %q", line)
		}
		sum, lines = sum+offset, lines+1
	}
	if lines != 2 || sum != len(consoleLines) {
		return fmt.Errorf("the ends are not those of %d records:\n%s", len(consoleLines), out)
	}
	return nil
}

// served are APIs that must be listed as usable; the rest may or may not be there yet.
var served = []string{"Produce(0)", "Fetch(1)", "ListOffsets(2)", "Metadata(3)",
	"ApiVersions(18)", "CreateTopics(19)", "DeleteTopics(20)", "InitProducerId(22)",
	"OffsetForLeaderEpoch(23)", "DescribeConfigs(32)", "DescribeCluster(60)"}

func brokerVersions(ctx context.Context, l *lab) error {
	out, err := l.tool(ctx, "", "broker-api-versions")
	if err != nil {
		return err
	}
	for _, id := range []string{"1", "2", "3"} {
		if want := l.server.Brokers[id] + " (id: " + id + " rack: null"; !strings.Contains(out, want) {
			return fmt.Errorf("broker %s is not listed as %q:\n%s", id, want, tail(out))
		}
	}
	for _, api := range served {
		usable := regexp.MustCompile(regexp.QuoteMeta(api) + `: \d+(?: to \d+)? \[usable: \d+\]`)
		if n := len(usable.FindAllString(out, -1)); n != 3 {
			return fmt.Errorf("%s is usable on %d brokers:\n%s", api, n, tail(out))
		}
	}
	return nil
}

func describeTopicConfigs(ctx context.Context, l *lab) error {
	out, err := l.tool(ctx, "", "configs", "--describe", "--entity-type", "topics",
		"--entity-name", "t-orders")
	if err != nil {
		return err
	}
	return expectLines(out, "Dynamic configs for topic t-orders are:",
		"  min.insync.replicas=2 sensitive=false "+
			"synonyms={DYNAMIC_TOPIC_CONFIG:min.insync.replicas=2, "+
			"DYNAMIC_DEFAULT_BROKER_CONFIG:min.insync.replicas=1, "+
			"DEFAULT_CONFIG:min.insync.replicas=1}")
}

func describeBrokerConfigs(ctx context.Context, l *lab) error {
	out, err := l.tool(ctx, "", "configs", "--describe", "--all", "--entity-type", "brokers",
		"--entity-name", "1")
	if err != nil {
		return err
	}
	for _, want := range []string{"All configs for broker 1 are:", "  node.id=1 ",
		"  log.segment.bytes=1073741824 ", "  replica.lag.time.max.ms=30000 "} {
		if !strings.Contains(out, want) {
			return fmt.Errorf("%q is missing in\n%s", want, tail(out))
		}
	}
	return nil
}
