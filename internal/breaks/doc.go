// Package breaks detects breaks of the prompt cache the way a client does: from
// what it sends and the usage it is told, without a look into the server
// (seed 000, "cache break detection", of 2026-03).
//
//	var d breaks.Detector
//	for i := range calls { // in order of time
//		v := d.See(&calls[i])
//		if v.Broke() {
//			fmt.Println(v.Reason, v.Changed, v.From, v.To)
//		}
//	}
//
// A break is a fall of the tokens read from the cache against the call before
// of the same source. Calls are simulated or recorded alike: Records makes them
// of call records, the loop of package sim of what it sends, and who reads
// recordings of rounds. A Confusion holds what the detector says against what the
// cache model knows.
package breaks
