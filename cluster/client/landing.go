package client

// Landing is where acknowledged records of a send lie in one partition. First and Last are the
// offsets of its first and last record, -1 when the broker did not say: other producers' records
// may lie between them.
type Landing struct {
	Partition   int32
	First, Last int64
	Records     int
}

// Landings has one Landing for each partition, in the order of the first acknowledgement.
type Landings []Landing

// add counts records that were acknowledged from offset base on, -1 when nobody told.
func (l Landings) add(partition int32, base int64, records int) Landings {
	last := base
	if base >= 0 {
		last += int64(records) - 1
	}
	return l.Join(Landings{{partition, base, last, records}})
}

// Join adds what another send came to.
func (l Landings) Join(more Landings) Landings {
	for _, m := range more {
		at := 0
		for at < len(l) && l[at].Partition != m.Partition {
			at++
		}
		if at == len(l) {
			l = append(l, m)
			continue
		}
		l[at].Last = max(l[at].Last, m.Last)
		l[at].Records += m.Records
	}
	return l
}
