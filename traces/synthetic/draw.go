package synthetic

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"time"
)

// purpose separates the draws made for one place in a session.
type purpose uint64

// The numbers are part of every draw: a purpose that is not used any more keeps
// its number.
const (
	forSession       purpose = 1
	forFileSize      purpose = 2
	forFilePick      purpose = 3
	forFileRange     purpose = 4
	forFileEdit      purpose = 5
	forRounds        purpose = 6
	forPause         purpose = 7
	forPauseKind     purpose = 8
	forPromptSize    purpose = 9
	forTextShare     purpose = 10
	forTextSize      purpose = 11
	forThinkingShare purpose = 12
	forThinkingSize  purpose = 13
	forParallel      purpose = 14
	forTool          purpose = 15
	forToolInput     purpose = 16
	forToolResult    purpose = 17
	forToolTime      purpose = 18
	forToolError     purpose = 19
	forFirstToken    purpose = 20
	forSpeed         purpose = 21
	forWarm          purpose = 23
	forLogged        purpose = 24
	forSummary       purpose = 25
	forCompactTime   purpose = 26
	forAgentRounds   purpose = 27
	forAgentReport   purpose = 28
	forWords         purpose = 29
	forStart         purpose = 30
	forModel         purpose = 31
	forSwitch        purpose = 32
	forImage         purpose = 33
	forImageBytes    purpose = 34
	forConnect       purpose = 35
	forConnectTokens purpose = 36
	forRewind        purpose = 37
	forResume        purpose = 38
	forResumePause   purpose = 39
	forResumeTokens  purpose = 40
	forReminders     purpose = 41
	forAnswer        purpose = 42
	forRestored      purpose = 43
)

// Places that are no blocks of a track: places of the session, its turns, its agents and its
// files.
const (
	forMain   = 1<<62 | 1<<61
	forTurns  = 1 << 62
	forAgents = 1 << 61
	forFiles  = 1 << 63
)

// place names a position in a session: thread, call of the thread, block.
func place(thread, call, block int) uint64 {
	return uint64(thread)<<44 | uint64(call)<<22 | uint64(block)
}

// dice draws by counter: every number is a hash of seed, purpose and id, so no
// draw depends on which others were made.
type dice uint64

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable
// pseudorandom number generators, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// bits returns 64 random bits.
func (d dice) bits(p purpose, id uint64) uint64 { return mix(mix(mix(uint64(d))^uint64(p)) ^ id) }

// below returns an integer in [0, n); n must be positive.
func (d dice) below(p purpose, id uint64, n int) int { return int(d.bits(p, id) % uint64(n)) }

// spot draws for one place in a session at a third of the cost of dice: the
// place is hashed once for all purposes.
type spot uint64

func (s spot) bits(p purpose) uint64 { return mix(uint64(s) ^ uint64(p)*0xd1342543de82ef95) }

// unit returns a number in the open interval (0, 1).
func (s spot) unit(p purpose) float64 { return (float64(s.bits(p)>>11) + 0.5) / (1 << 53) }

// below returns an integer in [0, n); n must be positive.
func (s spot) below(p purpose, n int) int { return int(s.bits(p) % uint64(n)) }

// hit reports an event of the given probability.
func (s spot) hit(p purpose, share float64) bool { return share > 0 && s.unit(p) < share }

// draw returns a value of a tabulated distribution.
func (s spot) draw(from *Dist, p purpose) float64 {
	if from.table.constant {
		return from.table.table[0]
	}
	return from.table.at(s.unit(p))
}

// count returns a value of a distribution, rounded, at least 1.
func (s spot) count(from *Dist, p purpose) int { return max(1, int(s.draw(from, p)+0.5)) }

// Dist is a size or a time of a workload: log-normal, which has the heavy tail
// of recorded sizes, or drawn from quantiles. Without a median and without
// quantiles it is always Min.
type Dist struct {
	Median float64 `yaml:"median,omitempty" doc:"half of the draws are below"`
	Sigma  float64 `yaml:"sigma,omitempty" doc:"standard deviation of the logarithm; 0 is a constant"`
	Min    float64 `yaml:"min,omitempty" doc:"least draw"`
	Max    float64 `yaml:"max,omitempty" doc:"largest draw; 0 is no limit"`
	// Between two quantiles above 0 the logarithm is interpolated, as suits a tail.
	Quantiles []float64 `yaml:"quantiles,omitempty,flow" doc:"values at equal steps of the share, instead of a median"`

	table *sampler // of a generator's own
}

// constant reports whether all draws are the same.
func (d *Dist) constant() bool { return len(d.Quantiles) == 0 && (d.Sigma == 0 || d.Median == 0) }

// quantile returns the value below which a share u of the draws lies.
func (d *Dist) quantile(u float64) float64 {
	var x float64
	switch {
	case len(d.Quantiles) > 0:
		x = interpolate(d.Quantiles, u)
	case d.constant():
		x = d.Median
	default:
		x = d.Median * math.Exp(d.Sigma*math.Sqrt2*math.Erfinv(2*u-1))
	}
	x = max(x, d.Min)
	if d.Max > 0 {
		x = min(x, d.Max)
	}
	return x
}

// interpolate returns the value at a share of values at equal steps.
func interpolate(values []float64, u float64) float64 {
	at := u * float64(len(values)-1)
	i := min(int(at), len(values)-1)
	a, b := values[i], values[min(i+1, len(values)-1)]
	at -= float64(i)
	if a > 0 && b > 0 {
		return a * math.Pow(b/a, at)
	}
	return a + (b-a)*at
}

// top returns the largest draw to reckon with: one in 2³² where there is no
// limit.
func (d *Dist) top() float64 { return d.quantile(1 - 1.0/(1<<32)) }

// bottom returns the least draw to reckon with.
func (d *Dist) bottom() float64 { return d.quantile(1e-9) }

// distCells is the number of steps in which a distribution is tabulated. The
// outermost ones, where the tail is, are computed.
const distCells = 256

// sampler draws from a Dist by interpolating in a table. No draw lies outside
// bottom and top.
type sampler struct {
	dist     Dist
	constant bool
	table    [distCells + 1]float64
}

func newSampler(d Dist) *sampler {
	s := &sampler{dist: d, constant: d.constant()}
	if !s.constant {
		s.dist.Min, s.dist.Max = d.bottom(), d.top()
	}
	for i := range s.table {
		u := min(max(float64(i)/distCells, 1e-9), 1-1e-9)
		s.table[i] = d.quantile(u)
	}
	return s
}

// at returns the value at a share in (0, 1).
func (s *sampler) at(u float64) float64 {
	x := u * distCells
	i := int(x)
	if i == 0 || i >= distCells-1 { // a share rounded up to 1 lies behind the last cell
		return s.dist.quantile(u)
	}
	return s.table[i] + (x-float64(i))*(s.table[i+1]-s.table[i])
}

// chooser picks an index by weight.
type chooser []float64 // running sums of the weights

func (c *chooser) add(weight float64) {
	if n := len(*c); n > 0 {
		weight += (*c)[n-1]
	}
	*c = append(*c, weight)
}

// at returns the index at a share in (0, 1).
func (c chooser) at(u float64) int {
	u *= c[len(c)-1]
	if len(c) <= 16 {
		for i, sum := range c {
			if u < sum {
				return i
			}
		}
		return len(c) - 1
	}
	return min(sort.SearchFloat64s(c, u), len(c)-1)
}

// Identifiers have the form and length of real ones, but carry a counter after
// a part that is constant in a session: they are unique by construction and
// compress well.

// uuid returns a version 4 UUID made of random bits and a counter below 2⁴⁸.
func uuid(bits, n uint64) string {
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", bits>>32, bits>>16&0xffff, bits&0xfff, 0x8000|bits>>4&0x3fff, n)
}

// Generated reports whether a session's id is one of a generated session: a version 4 UUID whose counter is 0. One recorded id in
// 2⁴⁸ looks so.
func Generated(id string) bool {
	return len(id) == len("00000000-0000-4000-8000-000000000000") && id[14] == '4' && strings.HasSuffix(id, "-000000000000")
}

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// inBase58 fills b with the last digits of n.
func inBase58(b []byte, n uint64) {
	for i := range b {
		b[len(b)-1-i] = base58[n%58]
		n /= 58
	}
}

// Prefixes of the API's ids.
const (
	messagePrefix = "msg_01"
	requestPrefix = "req_011C"
	toolUsePrefix = "toolu_01"
)

// apiID returns 22 characters of base 58 after a prefix: 16 of the session and
// a counter of 6.
func (d dice) apiID(prefix string, n uint64) string {
	var b [16 + countDigits]byte
	hi, lo := d.bits(forSession, 1<<32), d.bits(forSession, 1<<33)
	for i := range 8 {
		b[i], b[8+i] = base58[hi%58], base58[lo%58]
		hi, lo = hi/58, lo/58
	}
	inBase58(b[16:], n)
	return prefix + string(b[:])
}

// countDigits is how many digits at the end of an apiID are a counter.
const countDigits = 6

const millisecond = 1_000_000 // ns

// seconds converts to ns, rounded to the millisecond that is logged.
func seconds(s float64) int64 { return int64(math.Round(s*1000)) * millisecond }

// timestamp formats unix ns as the client does: UTC with milliseconds.
func timestamp(ns int64) string {
	return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000Z")
}
