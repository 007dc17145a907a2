package sim

import (
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/traces"
)

// Predict sets what the model expects of each call of a table: a replay of the session under a
// configuration, whose Record is replaced. Its strategy must be the recorded one, since others
// send other requests.
func Predict(t *calls.Table, config Config) (results.Row, error) {
	config.Record = func(r *results.CallRecord) {
		if r.Round >= 0 {
			t.Threads[r.Thread][r.Round].Predicted = &calls.Prediction{
				Usage: r.Usage, Expected: r.Expected, Miss: r.Miss, Cost: r.Cost, Rules: profile.Set(r.Rules),
			}
		}
	}
	return NewLoop(config).Run(t.Session)
}

// WithProfile returns a configuration that predicts with a profile: caches as documented, with
// what the profile has about them in the requests.
func (c Config) WithProfile(p *profile.Profile) Config {
	c.Profile, c.Lifetimes = p, promptcache.Lifetimes{}
	c.Server = func(kind traces.Cache) Server {
		if kind == traces.CacheAutomatic {
			return promptcache.NewOpenAI(promptcache.OpenAIConfig{Serving: servers.Recorded})
		}
		return promptcache.New(promptcache.Config{})
	}
	return c
}
