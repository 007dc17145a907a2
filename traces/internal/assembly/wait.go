package assembly

import "time"

// longestSummary is the time between the line before a compaction and its record that is taken for a summary call, ns: a
// longer one holds a pause. 30 seen compactions of Claude Code, whose logs tell when a person asked for one, took 36 to 156 s; by a
// lognormal (68 s, standard deviation of the logarithm 0.35) one in 100,000 takes longer than this. 17 of Codex took 2 to 77 s.
const longestSummary = int64(5 * time.Minute)

// SummaryTime returns how long a compaction took, ns, for which the log shows the time since the line before, ns, and the
// output of the summary call, tokens. What is longer than a summary call is mostly idle time: a person went away and asked
// for the compaction later. Then the output counts at the rate of the thread's calls, and nothing where either is unknown.
func (t *Thread) SummaryTime(since, output int64) int64 {
	if since <= longestSummary {
		return since
	}
	tokens, took := int64(0), int64(0)
	for i := range t.Calls {
		if c := &t.Calls[i]; c.InputAt != 0 && c.Last > c.InputAt && c.Last-c.InputAt <= longestSummary {
			tokens, took = tokens+c.Usage.Output, took+c.Last-c.InputAt
		}
	}
	if tokens == 0 {
		return 0
	}
	return min(longestSummary, int64(float64(output)*float64(took)/float64(tokens)))
}
