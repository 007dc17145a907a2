package reqlog

import (
	"path"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/reading/assembly"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// whole returns the calls of some files, with halves put together. One that was logged
// twice counts once.
func whole(files []*file) (list []*call) {
	halves := map[string]*call{}
	seen := map[string]*call{}
	for _, f := range files {
		twice := 0
		stem, _, _ := strings.Cut(path.Base(f.Name), ".")
		for _, c := range f.calls {
			if c.session == "" {
				c.session = stem
			}
			if o := halves[c.half]; c.half != "" && o != nil && o.asked != c.asked && o.told != c.told {
				o.join(c)
				continue
			}
			if o := seen[c.ID]; c.ID != "" && o != nil && o.told && c.told && assembly.SameInput(&o.Usage, &c.Usage) {
				twice++
				continue
			}
			halves[c.half], seen[c.ID] = c, c
			list = append(list, c)
		}
		if f.calls = nil; twice > 0 {
			f.Problems.Add(f.Name, 0, "%d calls are logged a second time; each is counted once", twice)
		}
	}
	return list
}

// join adds the other half of a call.
func (c *call) join(o *call) {
	req, resp := c.Request, o.Request
	if !c.asked {
		req, resp = resp, req
		c.session, c.markers = o.session, o.markers
	}
	req.ID, req.End, req.First, req.Usage, req.Open, req.Reply = resp.ID, resp.End, resp.End, resp.Usage, resp.Open, resp.Reply
	if resp.Model != "" {
		req.Model = resp.Model
	}
	c.Request, c.asked, c.told, c.failed, c.usd = req, true, true, c.failed || o.failed, c.usd+o.usd
}

// sessions makes a session of the calls that name one, and of those of a file that name none.
func sessions(opts *traces.Options, files []*file) (list []*assembly.Session) {
	for _, f := range files {
		if f.others > 0 && len(f.calls) == 0 {
			f.Problems.Add(f.Name, 0, "none of its %d exchanges is a call of a model that was answered", f.others)
		}
	}
	of := map[string][]*call{}
	var order []string
	for _, c := range whole(files) {
		if c.failed && !c.Usage.OK {
			continue
		}
		if of[c.session] == nil {
			order = append(order, c.session)
		}
		of[c.session] = append(of[c.session], c)
	}
	for _, name := range order {
		if s := session(opts, name, of[name]); s != nil {
			list = append(list, s)
		}
	}
	return list
}

// session makes the session of some calls, nil if none of them is counted.
func session(opts *traces.Options, name string, calls []*call) *assembly.Session {
	var all []*assembly.Request
	usd, markers, shown := 0.0, 0, false
	for i, c := range calls {
		c.Prompted = i == 0
		all = append(all, c.Request)
		usd, markers, shown = usd+c.usd, max(markers, min(c.markers, prompt.MaxMarkers)), shown || c.asked
	}
	s := Draft(opts, name, all)
	if !s.Counted(opts, all) {
		return nil
	}
	s.LoggedUSD, s.Markers = usd, int8(markers)
	if shown && markers == 0 {
		s.Markers = -1
	}
	s.OwnOnce()
	return s
}

// Draft returns the session of some requests.
func Draft(opts *traces.Options, name string, list []*assembly.Request) *assembly.Session {
	s := assembly.Draft(opts, &assembly.Format{Agent: Agent, Rates: opts.Rates, Exact: true, Head: head}, name, list)
	if !slices.ContainsFunc(list, func(r *assembly.Request) bool { return r.Messages != nil }) {
		s.Problems.Add(list[0].Source.Name, 0, "session %s shows no requests: its context has sizes and no content", name)
		s.Head = nil
	}
	s.Threads = assembly.Conversations(name, list)
	return s
}

// head gives tools and system prompt their share of the first call of a thread by their
// bytes, or what that read from the cache if it is about as much.
func head(t *assembly.Thread) []assembly.Block {
	first := &t.Calls[0]
	var bytes int64
	for i := range t.Ahead {
		bytes += int64(t.Ahead[i].Bytes)
	}
	static := bytes / bytesPerToken
	if read := first.Read; read > static*7/8 && read < static*9/8 {
		static = read
	} else if said := assembly.Tokens(first.Before); first.OK && static+said > 0 {
		static = int64(float64(first.Input()) * float64(static) / float64(static+said))
	}
	if first.OK {
		static = min(static, first.Input())
	}
	sizes := make([]*int32, len(t.Ahead))
	for i := range t.Ahead {
		b := &t.Ahead[i]
		b.Tokens = int32(int64(b.Bytes) / bytesPerToken)
		sizes[i] = &b.Tokens
	}
	assembly.Share(min(static, assembly.MaxTokens), sizes)
	return t.Ahead
}

// bytesPerToken of tools and system prompts, JSON and Markdown: the rate of the
// instructions that Codex logs, 0.22 tokens a byte, in whole numbers.
const bytesPerToken = 4
