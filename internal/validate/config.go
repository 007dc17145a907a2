package validate

import (
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces"
)

// WithProfile returns a configuration that predicts with a profile: the plain
// cache, with the profile's lifetimes, and what the profile knows of the client.
func WithProfile(c sim.Config, p *profile.Profile) sim.Config {
	c.Profile = p
	cache := cacheOf(p)
	c.Server = func(kind traces.Cache) sim.Server { return serverOf(kind, cache, 0) }
	return c
}

// Drawn is WithProfile with everything random drawn under a seed.
func Drawn(c sim.Config, p *profile.Profile, seed uint64) sim.Config {
	c = WithProfile(c, p)
	cache := cacheOf(p)
	cache.EvictPerCall = p.Evict.PerCall()
	c.Server = func(kind traces.Cache) sim.Server { return serverOf(kind, cache, p.Fallback.Value) }
	c.Draw, c.Seed = true, seed
	return c
}

// serverOf returns a cache of a kind. OpenAI's has a retention of its own; the
// profile's lifetimes are Anthropic's.
func serverOf(kind traces.Cache, cache promptcache.Config, overflow float64) sim.Server {
	if kind == traces.CacheAutomatic {
		return promptcache.NewOpenAI(promptcache.OpenAIConfig{OverflowPerCall: overflow})
	}
	return promptcache.New(cache)
}

func cacheOf(p *profile.Profile) promptcache.Config {
	return promptcache.Config{Lifetime: [2]int64{prompt.TTL5m: p.Life(prompt.TTL5m), prompt.TTL1h: p.Life(prompt.TTL1h)}}
}
