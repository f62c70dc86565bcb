// Command probe compares a Kafka-compatible cluster with a real Kafka, exchange by exchange.
package main

import (
	"os"

	"highwater/cmd/probe/kit"
)

func main() {
	os.Exit(
		kit.Main(
			os.Args[1:],
			os.Stdout,
			apiVersionsProbes,
			framingProbes,
			metadataProbes,
			topicsProbes,
			configsProbes,
			produceProbes,
			idempotenceProbes,
			fetchProbes,
			offsetsProbes,
			groupsProbes,
			consumerGroupsProbes,
			transactionsProbes,
			adminProbes,
			shareProbes,
		),
	)
}
