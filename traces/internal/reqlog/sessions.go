package reqlog

import (
	"cmp"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// whole returns the calls of some files, with halves put together. A call without an id that comes again, in one file or several,
// with the same times, request and response is one.
func whole(files []*file) (list []*call) {
	halves, seen := map[string]*call{}, map[prompt.Digest]bool{}
	for _, f := range files {
		if f.others > 0 && len(f.calls) == 0 {
			f.Problems.Add(f.Name, 0, "none of its %d exchanges is a call of a model that was answered", f.others)
		}
		again, line := 0, 0
		for _, c := range f.calls {
			if !c.same.IsZero() {
				if seen[c.same] {
					again, line = again+1, cmp.Or(line, int(c.Line))
					continue
				}
				seen[c.same] = true
			}
			c.Session, c.Nth = cmp.Or(c.Session, f.Stem()), len(list)
			if o := halves[c.half]; c.half != "" && o != nil && o.asked != c.asked && o.told != c.told {
				o.join(c)
				continue
			}
			halves[c.half] = c
			list = append(list, c)
		}
		if again > 0 {
			f.Problems.Add(f.Name, line, "calls that are told a second time, without an id and with the same times, request and response: %d; each counts once", again)
		}
		f.calls = nil
	}
	return list
}

// join adds the other half of a call.
func (c *call) join(o *call) {
	req, resp := c.Request, o.Request
	if !c.asked {
		req, resp = resp, req
	}
	req.Nth = c.Nth
	req.ID, req.End, req.First, req.Usage, req.Open, req.Reply = resp.ID, resp.End, resp.End, resp.Usage, resp.Open, resp.Reply
	req.Model, req.USD = cmp.Or(resp.Model, req.Model), req.USD+resp.USD
	c.Request, c.asked, c.told, c.failed = req, true, true, c.failed || o.failed
}

// sessions makes a session of the calls that name one, and of the calls of a file that name none.
func sessions(opts *traces.Options, files []*file) []*assembly.Session {
	var all []*assembly.Request
	for _, c := range whole(files) {
		if !c.failed || c.Usage.OK {
			all = append(all, c.Request)
		}
	}
	return assembly.Sessions(opts, Agent, all)
}
