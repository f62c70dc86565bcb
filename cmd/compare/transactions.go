package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// transactionChecks are of Kafka's tools that produce, read and describe transactions.
var transactionChecks = []check{
	{"transactions-produce", produceInTransactions},
	{"transactions-read-committed", readCommitted},
	{"transactions-describe", describeTransactions},
}

const transactionalRecords = 600

func produceInTransactions(ctx context.Context, l *lab) error {
	if _, err := l.tool(ctx, "", "topics", "--create", "--topic", "t-txn",
		"--replica-assignment", "1:2:3"); err != nil {
		return err
	}
	out, err := l.kafka.tool(ctx, "", "producer-perf-test", "--topic", "t-txn",
		"--num-records", fmt.Sprint(transactionalRecords), "--record-size", "100",
		"--throughput", "300", "--transactional-id", "t-perf", "--transaction-duration-ms", "500",
		"--command-property", "bootstrap.servers="+l.server.bootstrap())
	if err != nil {
		return err
	}
	if !strings.Contains(out, fmt.Sprintf("%d records sent", transactionalRecords)) {
		return fmt.Errorf("not all records were sent:\n%s", tail(out))
	}
	return nil
}

var letters = regexp.MustCompile(`(?m)^[A-Z]{100}$`)

func readCommitted(ctx context.Context, l *lab) error {
	out, err := l.tool(ctx, "", "console-consumer", "--topic", "t-txn", "--from-beginning",
		// The first member of a group alone waits 3 s for others; the tool ends with the last record.
		"--timeout-ms", "20000", "--max-messages", fmt.Sprint(transactionalRecords),
		"--command-property", "isolation.level=read_committed")
	if err != nil {
		return err
	}
	// One record a line: the perf tool writes letters only. The count of the tool itself goes elsewhere.
	if n := len(letters.FindAllString(out, -1)); n != transactionalRecords {
		return fmt.Errorf("%d committed records were read of %d:\n%s", n, transactionalRecords, tail(out))
	}
	return nil
}

var completed = regexp.MustCompile(`(?m)^t-perf\s+\d\s+\d+\s+CompleteCommit\s*$`)

func describeTransactions(ctx context.Context, l *lab) error {
	out, err := l.tool(ctx, "", "transactions", "list")
	if err != nil {
		return err
	}
	if !completed.MatchString(out) {
		return fmt.Errorf("the transactional id is not listed as complete:\n%s", tail(out))
	}
	out, err = l.tool(ctx, "", "transactions", "describe-producers", "--topic", "t-txn",
		"--partition", "0")
	if err != nil {
		return err
	}
	if !regexp.MustCompile(`(?m)^\d+\s+\d+\s+0\s+-1\s+\d+\s+None\s*$`).MatchString(out) {
		return fmt.Errorf("the producer is not described as Kafka describes it:\n%s", tail(out))
	}
	return nil
}
