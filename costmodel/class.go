package costmodel

// The token classes that are billed at prices of their own, in the order of
// every array of NumClasses elements in this package. It is also the order of
// the classes in result rows.
const (
	Uncached   = iota // input neither read from nor written to the cache
	Read              // input read from the cache
	Write5m           // input written with a 5-minute lifetime
	Write1h           // input written with a 1-hour lifetime
	WriteOther        // input written with another or an unstated lifetime
	Output            // output, thinking included
	NumClasses
)

// perMillion is the number of tokens a listed price is for.
const perMillion = 1e6
