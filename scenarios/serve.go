package scenarios

import (
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/promptcache"
)

// serve makes the cache that sessions call.
func (s *Server) serve() sim.Server { return promptcache.New(s.Config()) }
