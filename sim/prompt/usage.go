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
func (u Usage) Input() int64 {
	return u.Uncached + u.Read + u.Writes()
}

// Writes returns the tokens written to the cache in any tier.
func (u Usage) Writes() int64 { return u.Write5m + u.Write1h + u.WriteOther }

// Add adds v to u.
func (u *Usage) Add(v Usage) {
	u.Uncached += v.Uncached
	u.Read += v.Read
	u.Write5m += v.Write5m
	u.Write1h += v.Write1h
	u.WriteOther += v.WriteOther
	u.Output += v.Output
}

// TTL is the lifetime class of a cache entry.
type TTL uint8

// The lifetimes on offer: five minutes and one hour.
const (
	TTL5m TTL = iota
	TTL1h
)

// String returns "5m" or "1h".
func (t TTL) String() string {
	if t == TTL1h {
		return "1h"
	}
	return "5m"
}

// Scope is who may read a cache entry.
type Scope uint8

// The scopes of a cache entry.
const (
	ScopeOrg    Scope = iota // the organisation or workspace of the writer
	ScopeGlobal              // everyone
)

// MissClass says why a call read less than the best prefix its thread had left
// in the cache.
type MissClass uint8

// The classes of a miss.
const (
	MissNone        MissClass = iota
	MissExpiry                // the entry outlived its TTL
	MissEdit                  // a message ahead of the end changed
	MissCompaction            // a compaction replaced the messages
	MissRewind                // the conversation went back to an earlier point
	MissHead                  // tools, system prompt or a request parameter changed
	MissModel                 // another model: nothing is shared
	MissEviction              // evicted inside its TTL
	MissNotReadable           // the writer's response had not begun
	MissLookback              // further back than the look-back reaches
	MissMinimum               // below the minimum cacheable length
	missCount
)

var missNames = [missCount]string{
	"none", "expiry", "edit", "compaction", "rewind", "head", "model", "eviction",
	"not_readable", "lookback", "minimum",
}

// NumMissClasses is the number of miss classes, for tables indexed by MissClass.
const NumMissClasses = int(missCount)

// String returns the lower-case name used in reports.
func (m MissClass) String() string { return missNames[min(m, missCount-1)] }
