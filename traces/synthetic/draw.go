package synthetic

import "math"

// purpose separates the draws made for one place in a session.
type purpose uint64

const (
	forSession purpose = iota + 1
	forFileSize
	forFilePick
	forFileRange
	forFileEdit
	forRounds
	forPause
	forPauseKind
	forPromptSize
	forTextShare
	forTextSize
	forThinkingShare
	forThinkingSize
	forParallel
	forTool
	forToolInput
	forToolResult
	forToolTime
	forToolError
	forFirstToken
	forSpeed
	forRate
	forWarm
	forLogged
	forSummary
	forCompactTime
	forAgentRounds
	forAgentReport
	forWords
	forStart
	forModel
	forSwitch
	forImage
	forImageBytes
	forConnect
	forConnectTokens
	forRewind
	forResume
	forResumePause
	forResumeTokens
	forReminders
	forAnswer
	forRestored
)

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
func (d dice) bits(p purpose, id uint64) uint64 {
	return mix(mix(mix(uint64(d))^uint64(p)) ^ id)
}

// unit returns a number in the open interval (0, 1).
func (d dice) unit(p purpose, id uint64) float64 {
	return (float64(d.bits(p, id)>>11) + 0.5) / (1 << 53)
}

// below returns an integer in [0, n); n must be positive.
func (d dice) below(p purpose, id uint64, n int) int {
	return int(d.bits(p, id) % uint64(n))
}

// hit reports an event of the given probability.
func (d dice) hit(p purpose, id uint64, share float64) bool { return d.unit(p, id) < share }

// normal returns a standard normal number (Box–Muller).
func (d dice) normal(p purpose, id uint64) float64 {
	second := dice(mix(uint64(d) ^ 0x5851f42d4c957f2d))
	return math.Sqrt(-2*math.Log(d.unit(p, id))) * math.Cos(2*math.Pi*second.unit(p, id))
}

// from returns a value of the distribution.
func (d dice) from(l LogNormal, p purpose, id uint64) float64 {
	if l.Median == 0 {
		return l.Min
	}
	x := l.Median
	if l.Sigma > 0 {
		x *= math.Exp(l.Sigma * d.normal(p, id))
	}
	x = max(x, l.Min)
	if l.Max > 0 {
		x = min(x, l.Max)
	}
	return x
}
