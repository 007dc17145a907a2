// Package fleet simulates the users of several organisations on one clock, with
// one cache between them: what a scope that everyone shares saves, what an
// upgrade of the client costs, what users who pass their plan's quota do to the
// cache, and how many calls are under way at once.
//
// A fleet is a YAML file; fleets/reference.yaml tells every key. Parse reads one,
// File.Generate makes its people and their sessions, and a Runner simulates them:
//
//	file, err := fleet.Load("office", fleet.Inputs{})
//	runner := fleet.Runner{Registry: registry, Prices: prices}
//	result, err := runner.Run(ctx, file)
//
// Users meet only in what stands ahead of messages, so each is simulated ahead of the
// others until a request depends on them, and several cores work on one clock: the
// result is that of every event in order of time, see ahead and lane.
//
// Every session is a function of the fleet's seed, the name of its organisation,
// and the user's and the session's ordinals. Adding users, organisations or days
// leaves the sessions of the others as they are.
package fleet
