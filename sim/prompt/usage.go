package prompt

// Usage counts the tokens of one call or a sum of calls. The input classes are
// disjoint: their sum is what the server processed.
type Usage struct {
	Uncached   int64 // neither read from nor written to the cache
	Read       int64 // read from the cache
	Write5m    int64 // written with a 5-minute lifetime
	Write1h    int64 // written with a 1-hour lifetime
	WriteOther int64 // written with another or an unstated lifetime
	Output     int64
}

// Input returns all input tokens: read, written and uncached.
func (u *Usage) Input() int64 {
	return u.Uncached + u.Read + u.Writes()
}

// Writes returns the tokens written to the cache in any tier.
func (u *Usage) Writes() int64 { return u.Write5m + u.Write1h + u.WriteOther }

// Written returns the usage with the uncached tokens written to the cache, for a lifetime of its own,
// but for those behind the last entry.
func (u *Usage) Written(tail int64) Usage {
	out := *u
	n := max(0, out.Uncached-tail)
	out.Uncached, out.WriteOther = out.Uncached-n, out.WriteOther+n
	return out
}

// Plain returns the usage with what is written to the cache as plain input.
func (u *Usage) Plain() Usage {
	return Usage{Uncached: u.Uncached + u.Writes(), Read: u.Read, Output: u.Output}
}

// Add adds v to u.
func (u *Usage) Add(v *Usage) {
	u.Uncached += v.Uncached
	u.Read += v.Read
	u.Write5m += v.Write5m
	u.Write1h += v.Write1h
	u.WriteOther += v.WriteOther
	u.Output += v.Output
}
