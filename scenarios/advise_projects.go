package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/traces"
)

// The value of a setting is given by project where a permutation test finds that projects differ,
// and where that saves enough more on sessions not used to choose it, as a share of their cost.
const (
	permutations = 199
	differLevel  = 0.05
	differShare  = 0.01
)

// projectValue is the value that the sessions of a project choose.
type projectValue struct {
	Project string `json:"project"`
	Value   string `json:"value"` // "" for none: as it is
}

// byProject sets what projects choose, if they differ enough. Projects with
// fewer than foldBlocks sessions count as one project.
func (c *Change) byProject(sessions []*traces.Session, tried []candidate, costs [][]float64) {
	count := map[string]int{}
	for _, s := range sessions {
		count[s.Project]++
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	names = slices.DeleteFunc(names, func(name string) bool { return count[name] < foldBlocks })
	if len(names) == 0 || len(names) == 1 && len(sessions)-count[names[0]] < foldBlocks {
		return
	}
	of := make([]int, len(sessions))
	for i, s := range sessions {
		if of[i] = slices.Index(names, s.Project); of[i] < 0 {
			of[i] = len(names)
		}
	}
	base := 0.0
	for _, usd := range costs[0] {
		base += usd
	}
	more := apart(costs, of, len(names)+1)
	if base <= 0 || more < differShare*base {
		return
	}
	draw, beyond := rand.New(rand.NewPCG(1, uint64(len(sessions)))), 1
	for range permutations {
		draw.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		if apart(costs, of, len(names)+1) >= more {
			beyond++
		}
	}
	if float64(beyond) > differLevel*(permutations+1) {
		return
	}
	c.ProjectsMore = more / base
	for _, name := range names {
		best := cheapest(costs, func(s int) bool { return sessions[s].Project == name })
		v := projectValue{Project: name}
		if best > 0 {
			v.Value = tried[best-1].value
		}
		c.Projects = append(c.Projects, v)
	}
}

// apart returns how much less sessions cost, USD, if the value for each is chosen by its
// own group instead of by all sessions, in both cases by sessions of other blocks.
func apart(costs [][]float64, of []int, groups int) float64 {
	n, values := len(of), len(costs)
	const blocks = foldBlocks
	sums := make([]float64, groups*blocks*values) // by group, block and value
	less := 0.0
	for round := range foldRepeats {
		clear(sums)
		for s := range n {
			at := (of[s]*blocks + blockOf(s, n, round)) * values
			for v := range values {
				sums[at+v] += costs[v][s]
			}
		}
		for b := range blocks {
			all, own := make([]float64, values), make([]float64, groups*values)
			for g := range groups {
				for other := range blocks {
					for v := range values {
						if usd := sums[(g*blocks+other)*values+v]; other != b {
							all[v] += usd
							own[g*values+v] += usd
						}
					}
				}
			}
			one := slices.Index(all, slices.Min(all))
			for g := range groups {
				mine := own[g*values : (g+1)*values]
				at := sums[(g*blocks+b)*values:]
				less += (at[one] - at[slices.Index(mine, slices.Min(mine))]) / foldRepeats
			}
		}
	}
	return less
}

// maxProjects is how many projects, those with the most sessions, the text names.
const maxProjects = 3

// projects says what the projects with the most sessions choose, and whether that is
// advised, as the change itself is; "" when projects do not differ.
func (c *Change) projects(advised bool) string {
	if len(c.Projects) == 0 {
		return ""
	}
	var list []string
	for _, p := range c.Projects[:min(len(c.Projects), maxProjects)] {
		does := "as it is"
		if p.Value != "" {
			does = c.at.setting.With(c.at.setting.Does, p.Value)
		}
		list = append(list, fmt.Sprintf("%s in %s", does, cmp.Or(p.Project, "sessions without a project")))
	}
	text := strings.Join(list, ", ")
	if more := len(c.Projects) - maxProjects; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	saves := document.Percent(c.ProjectsMore) + " more on unseen sessions"
	if !advised {
		return fmt.Sprintf(" Nor is a value for each project, though it saves %s: %s.", saves, text)
	}
	if c.at.setting.Project != "" {
		saves += " (" + c.at.setting.Project + " of the project)"
	}
	return fmt.Sprintf(" Projects differ, and a value for each saves %s: %s.", saves, text)
}
