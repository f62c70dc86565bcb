// Package record is the bytes of Kafka's record batch v2: headers, records, compression, control
// records, the checks that need nothing but the bytes, and the counted memory they lie in. It does
// no I/O and knows nothing of logs; the edge, logs, clients and the inspector's byte view call it.
package record
