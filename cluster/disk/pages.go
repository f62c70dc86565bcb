package disk

import (
	"slices"
	"sort"
)

// Sizes of what a power cut may keep or lose.
const (
	pageBytes   = 4096 // the kernel writes back whole pages
	sectorBytes = 512  // the drive writes whole sectors
)

// run is the pages from, from+1, …, to−1.
type run struct{ from, to int64 }

// pageSet is a set of pages as sorted runs that neither touch nor overlap. Appending, the way
// of logs, makes one run that grows, however many gigabytes it covers.
type pageSet []run

// add puts the pages of r into the set.
func (s *pageSet) add(r run) {
	if last := len(*s) - 1; last >= 0 && r.from >= (*s)[last].from {
		if r.from <= (*s)[last].to {
			(*s)[last].to = max((*s)[last].to, r.to)
			return
		}
		*s = append(*s, r)
		return
	}
	first := sort.Search(len(*s), func(i int) bool { return (*s)[i].to >= r.from })
	end := first
	for end < len(*s) && (*s)[end].from <= r.to {
		r.from = min(r.from, (*s)[end].from)
		r.to = max(r.to, (*s)[end].to)
		end++
	}
	*s = slices.Replace(*s, first, end, r)
}

// dropFrom takes the page and all after it out of the set.
func (s *pageSet) dropFrom(page int64) {
	keep := sort.Search(len(*s), func(i int) bool { return (*s)[i].to > page })
	if keep == len(*s) {
		return
	}
	if (*s)[keep].from < page {
		(*s)[keep].to = page
		keep++
	}
	*s = (*s)[:keep]
}

// dropBefore takes all pages before the given one out of the set.
func (s *pageSet) dropBefore(page int64) {
	gone := sort.Search(len(*s), func(i int) bool { return (*s)[i].to > page })
	*s = slices.Delete(*s, 0, gone)
	if len(*s) > 0 {
		(*s)[0].from = max((*s)[0].from, page)
	}
}

// count is the number of pages in the set.
func (s pageSet) count() int64 {
	var n int64
	for _, r := range s {
		n += r.to - r.from
	}
	return n
}

// has says whether the page is in the set.
func (s pageSet) has(page int64) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].to > page })
	return i < len(s) && s[i].from <= page
}

// first is the first page of the set from the given one on, if there is one.
func (s pageSet) first(from int64) (int64, bool) {
	i := sort.Search(len(s), func(i int) bool { return s[i].to > from })
	if i == len(s) {
		return 0, false
	}
	return max(from, s[i].from), true
}

// pagesOf is the run of pages that bytes off … off+n−1 lie in; n > 0.
func pagesOf(off, n int64) run { return run{off / pageBytes, (off+n-1)/pageBytes + 1} }

// pagesUp is the number of pages that hold size bytes.
func pagesUp(size int64) int64 { return (size + pageBytes - 1) / pageBytes }
