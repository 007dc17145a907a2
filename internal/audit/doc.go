// Package audit explains a bill from recorded usage alone: nothing is simulated.
//
//	report, err := audit.Run(sessions, audit.Options{Prices: table})
//
// What was paid is logged usage × price, as sim.Billed has it, split by model,
// day, project, session, source and token class. What it was paid for comes from
// comparing each call with the one before on its thread: what that call had left
// in the cache and this one did not read is missed, and costs the difference
// between writing and reading it. Package breaks says why.
//
// What another setting would have cost is plain arithmetic over the recorded
// pauses. The same arithmetic for the settings in force is held against the
// bill: Lifetime.Error is how far it is off on these sessions, and no saving
// smaller than that means anything.
package audit
