package prompt

import (
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Contexts that share entries are as if each had been copied, whatever is done to any of them in whatever order.
func TestSharedEntriesAreAsCopied(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := blocks(40)
		var arena Arena
		const n = 5
		var shared, copied [n]Context
		for i := range n {
			shared[i].Reset(b, &arena)
			copied[i].Reset(b, &arena)
		}
		number := func(name string, most int) int { return rapid.IntRange(0, most).Draw(t, name) }
		for range number("steps", 60) {
			i := number("context", n-1)
			length := shared[i].Len()
			at := number("position", max(0, length-1))
			to := at + number("entries", max(0, length-at))
			from := number("parent", n-1)
			what, block := number("operation", 10), Ref(number("block", 39))
			for k, c := range [...]*Context{&shared[i], &copied[i]} {
				switch {
				case what == 0 && i != from && k == 0:
					c.Branch(&shared[from])
				case what == 0 && i != from:
					c.CopyFrom(&copied[from])
				case what == 1:
					c.Release()
					c.Reset(b, &arena)
				case what == 2:
					c.Truncate(at, CauseRewind)
				case what == 3 && length > 0:
					c.SetForm(at, FormCleared, 7, CauseEdit)
				case what == 4 && length > 0:
					c.LeaveOut(at, 3)
				case what == 5 && to <= length:
					c.Replace(at, to, []Ref{block, 1, 2}, CauseCompaction)
				case what == 6 && to <= length:
					c.Replace(at, to, nil, CauseCompaction)
				case what == 7 && to <= length:
					c.Restore(at, to, []Entry{{Tokens: 9, Block: block, ID: 77, Kind: KindText}}, CauseEdit)
				case what == 8:
					c.SetKey(LevelMessages, Digest{9, uint64(block)})
				case what == 9:
					c.AppendSame(Entry{Tokens: 5, Block: block, ID: 99, Kind: KindText})
				default:
					c.Append(block)
				}
			}
			for k := range n {
				if number("sealed", 1) == 0 {
					continue // later, and perhaps by another one
				}
				if got, want := shared[k].Seal(), copied[k].Seal(); !slices.Equal(got, want) {
					t.Fatalf("context %d has %v where entries are shared, %v where they are copied", k, got, want)
				}
			}
		}
	})
}

// A branch costs what it adds: a hundred from a context of 4,000 entries, each ended before the next one begins, take no
// allocation of that length.
func TestBranchCostsWhatItAdds(t *testing.T) {
	b := blocks(4000)
	parent := newContext(b)
	parent.Seal()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const branches = 100
	for range branches {
		var c Context
		c.Branch(parent)
		c.Append(1)
		c.Seal()
		c.Release()
		parent.Append(2)
		parent.Truncate(4000, CauseRewind)
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / branches; got > 4000 { // 160,000 for a copy
		t.Errorf("a branch from 4,000 entries and its parent's next entry allocate %d bytes", got)
	}
}

// A conversation that goes on beside 50 branches, one after the other, copies its 20,000 entries each time, but into storage that an
// earlier copy had: 50 copies of 0.8 MB would be 40 MB, two storages with room for more are less than 4.
func TestBranchesUseStorageAgain(t *testing.T) {
	b := blocks(40)
	var arena Arena
	var main, branch Context
	main.Reset(b, &arena)
	for range 500 {
		main.AppendRange(0, 40)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 50 {
		branch.Branch(&main)
		branch.Append(1)
		main.Append(2)
		branch.Release()
	}
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > 4<<20 {
		t.Errorf("50 branches made %d bytes of storage, want at most 4 MiB", made)
	}
}
