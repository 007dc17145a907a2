package profile

import "slices"

// FirstRead returns what the first call of a session is expected to read, tokens:
// what those of the user's other sessions read most often, of the same model if
// there are any; for a user who is not known the median over users of the same, and
// of all models for one that was not recorded. Of f, Read does not matter.
func (c *Codex) FirstRead(f *FirstRead) int64 {
	for _, model := range []string{f.Model, ""} {
		by := c.readsByUser(f.Session, model)
		if own := by[f.User]; f.User != "" && len(own) > 0 {
			return mostOften(own)
		}
	}
	for _, model := range []string{f.Model, ""} {
		var reads []int64
		for _, own := range c.readsByUser(f.Session, model) {
			reads = append(reads, mostOften(own))
		}
		if n := len(reads); n > 0 {
			slices.Sort(reads)
			return (reads[(n-1)/2] + reads[n/2]) / 2
		}
	}
	return 0
}

// readsByUser returns what the first calls of all sessions but one read by user, of
// one model or of all.
func (c *Codex) readsByUser(session, model string) map[string][]int64 {
	by := map[string][]int64{}
	for i := range c.First {
		if f := &c.First[i]; f.Session != session && (model == "" || f.Model == model) {
			by[f.User] = append(by[f.User], f.Read)
		}
	}
	return by
}

// mostOften returns the most frequent of some numbers, of several the smallest.
func mostOften(list []int64) int64 {
	best, most := int64(0), 0
	counts := map[int64]int{}
	for _, x := range list {
		counts[x]++
		if n := counts[x]; n > most || n == most && x < best {
			best, most = x, n
		}
	}
	return best
}
