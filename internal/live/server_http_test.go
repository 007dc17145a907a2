package live

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/internal/live/api"
	"github.com/compactsim/compactsim/internal/live/devserver"
)

// A real server compacts on demand a conversation of any size.
func TestServerOverHTTP(t *testing.T) {
	_, web := serve(t, devserver.Options{})
	s := conversation("alpha")
	call := s.call()
	call.Intent.Way = wayServer
	l := newLive(t, Options{Backend: web, Texts: library(s)})
	if a := compose(t, l, call); a.Failed != "" || a.Summary < 100 {
		t.Errorf("%+v", a)
	}
	if d := cmp.Diff([]string{api.BetaOnDemand}, l.opts.Shared.Report().Calls[0].Betas); d != "" {
		t.Errorf("betas %s", d)
	}
}
