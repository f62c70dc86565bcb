// Package disk is the file seam of one node: the log directory tree on real files or in memory,
// with one behaviour, that knows which bytes were written and which were synced. It can
// therefore cut the power, and be full, slow, hung or broken on request. It knows nothing of
// logs, batches or events; cluster/commitlog and the other keepers of files call it, cluster/world
// and cluster cause its faults.
//
// Both kinds of disk share everything above the small backing interface: names, handles, faults,
// the bookkeeping of unsynced changes and the journal of directory operations. What a power cut
// leaves behind therefore depends on the history of operations and on the dice only.
//
// The model of durability is POSIX's, with an ordered metadata journal:
//
//   - File.Sync makes a file's content and length durable, not its name.
//   - FS.SyncDir makes the creations, removals and renames in that directory durable, and with
//     them the earlier operations they depend on.
//   - Everything else may be lost: each dirty page of 4 KiB is kept, lost or torn at 512 bytes,
//     and a suffix of the unsynced directory operations never happened.
package disk
