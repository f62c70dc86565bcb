// Package txn coordinates transactions (KIP-98, KIP-890): which partitions belong to the open
// transaction of a transactional id, how it ends, and with which producer epoch the next one
// begins. A request is decided into one record of __transaction_state; only replaying that record,
// once it is committed, changes what is remembered. It knows no broker: records go to a Log, and
// producer ids and markers come from a Host.
package txn
