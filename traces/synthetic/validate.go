package synthetic

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// maxTokens bounds every size in a profile, so that sums stay far from overflow.
const maxTokens = 10_000_000

// maxSeconds bounds every time in a profile: ten years.
const maxSeconds = 10 * 365 * 24 * 3600

// problems collects everything wrong with a profile.
type problems []error

func (ps *problems) add(format string, args ...any) {
	*ps = append(*ps, fmt.Errorf(format, args...))
}

// Validate returns all problems of the profile at once, joined; nil if there
// are none.
func (p *Profile) Validate() error {
	var ps problems
	if _, ok := parseVersion(p.Version); !ok {
		ps.add("version %q: want three numbers such as 2.1.42", p.Version)
	}
	if p.Model == "" {
		ps.add("model: missing")
	}
	if p.Prompts < 1 || p.Prompts > 1_000_000 {
		ps.add("prompts %d: want 1 to 1,000,000", p.Prompts)
	}
	if y := p.Start.Year(); y < 2000 || y > 2200 {
		ps.add("start %s: want a time between the years 2000 and 2200", p.Start.Format(time.RFC3339))
	}
	p.checkSizes(&ps)
	p.checkTimes(&ps)
	p.checkTools(&ps)
	p.checkWindow(&ps)
	return errors.Join(ps...)
}

func (p *Profile) checkSizes(ps *problems) {
	ps.dist("rounds", p.Rounds, 100_000)
	ps.dist("prompt", p.Prompt, maxTokens)
	ps.dist("text", p.Text, maxTokens)
	ps.dist("thinking", p.Thinking, maxTokens)
	ps.dist("file size", p.FileSize, maxTokens)
	ps.dist("summary", p.Summary, maxTokens)
	ps.count("static", p.Static, maxTokens)
	ps.count("reminders", p.Reminders, maxTokens)
	ps.count("files", p.Files, 1_000_000)
	ps.count("restore files", p.RestoreFiles, 1000)
	ps.count("restore tokens", p.RestoreTokens, maxTokens)
	ps.share("text share", p.TextShare)
	ps.share("thinking share", p.ThinkingShare)
	ps.share("reread", p.Reread)
	ps.share("warm start", p.WarmStart)
	ps.share("warm expiry", p.WarmExpiry)
	if !(p.Parallel >= 0 && p.Parallel <= 0.9) {
		ps.add("parallel %v: want 0 to 0.9", p.Parallel)
	}
}

func (p *Profile) checkTimes(ps *problems) {
	ps.dist("think", p.Think, maxSeconds)
	ps.dist("compact time", p.CompactTime, maxSeconds)
	ps.dist("first token", p.FirstToken, maxSeconds)
	ps.dist("speed", p.Speed, 1e6)
	if p.Speed.Median <= 0 && p.Speed.Min <= 0 {
		ps.add("speed: want more than 0 tokens per second")
	}
	var sum float64
	for i, pause := range p.Pauses {
		ps.share(fmt.Sprintf("pause %d", i+1), pause.Share)
		ps.dist(fmt.Sprintf("pause %d", i+1), pause.Length, maxSeconds)
		sum += pause.Share
	}
	if sum > 1 {
		ps.add("pauses: shares sum to %v, more than 1", sum)
	}
}

func (p *Profile) checkTools(ps *problems) {
	ps.mix("tool", p.Tools, p.Files)
	for _, t := range p.Tools {
		if t.Name == toolTask && t.Weight > 0 {
			ps.mix("agent tool", p.Agent.Tools, p.Files)
			ps.dist("agent rounds", p.Agent.Rounds, 100_000)
			ps.dist("agent report", p.Agent.Report, maxTokens)
			ps.count("agent static", p.Agent.Static, maxTokens)
			ps.count("agent reminders", p.Agent.Reminders, maxTokens)
			break
		}
	}
	for _, t := range p.Agent.Tools {
		if t.Name == toolTask {
			ps.add("agent tool %s: agents start no agents", t.Name)
		}
	}
}

func (p *Profile) checkWindow(ps *problems) {
	if p.Window < 0 || p.Window > maxTokens {
		ps.add("window %d: want 0 to %d tokens", p.Window, maxTokens)
		return
	}
	limit := p.threshold()
	if limit > p.window() {
		ps.add("threshold %d: above the window of %d tokens", limit, p.window())
	}
	after := p.Static + p.Reminders + int(p.Summary.Max) + p.RestoreFiles*p.RestoreTokens
	if limit != 0 && after >= limit {
		ps.add("threshold %d: a compaction may leave %d tokens (static, reminders, summary, restored files)", limit, after)
	}
	if limit != 0 && p.Summary.Median > 0 && p.Summary.Max <= 0 {
		ps.add("summary: needs a maximum when the session compacts")
	}
}

// mix checks a tool mix; files is the size of the working set.
func (ps *problems) mix(what string, tools []Tool, files int) {
	var sum float64
	for _, t := range tools {
		name := what + " " + t.Name
		if !knownTool(t.Name) {
			ps.add("%s: unknown; known are %v", name, toolNames)
		}
		if !(t.Weight >= 0) || math.IsInf(t.Weight, 0) {
			ps.add("%s: weight %v: want 0 or more", name, t.Weight)
		}
		sum += max(t.Weight, 0)
		ps.dist(name+": input", t.Input, maxTokens)
		ps.dist(name+": result", t.Result, maxTokens)
		ps.dist(name+": time", t.Time, maxSeconds)
		ps.share(name+": errors", t.Errors)
		if worksOnFiles(t.Name) && t.Weight > 0 && files < 1 {
			ps.add("%s: works on files, and the working set has none", name)
		}
	}
	if !(sum > 0) {
		ps.add("%s mix: empty", what)
	}
}

func (ps *problems) dist(what string, l LogNormal, limit float64) {
	for _, x := range []float64{l.Median, l.Sigma, l.Min, l.Max} {
		if !(x >= 0) || x > limit {
			ps.add("%s: %v is out of range: want 0 to %v", what, x, limit)
			return
		}
	}
	if l.Max > 0 && l.Min > l.Max {
		ps.add("%s: minimum %v above maximum %v", what, l.Min, l.Max)
	}
	if l.Max == 0 && l.Sigma > 0 && l.Median > 0 && l.Median*math.Exp(9*l.Sigma) > limit {
		ps.add("%s: the tail passes %v: set a maximum", what, limit)
	}
}

func (ps *problems) count(what string, n, limit int) {
	if n < 0 || n > limit {
		ps.add("%s: %d is out of range: want 0 to %d", what, n, limit)
	}
}

func (ps *problems) share(what string, x float64) {
	if !(x >= 0 && x <= 1) {
		ps.add("%s: %v: want a share from 0 to 1", what, x)
	}
}
