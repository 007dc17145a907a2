// Command experiment holds predictions about another setting against real clients that ran under it. A scripted agent (Script)
// works under a client, against a server that bills by the providers' documented caches; under setting A it is recorded, under setting B
// billed, and the simulator, which sees A's recording and the setting of B, has to find B's bill.
//
//	experiment                  predict every pair and compare with the bills, without any client
//	experiment -record [RUN…]   run the clients anew and take their bills and recordings (Linux, root, npm, zstd)
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "experiment:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context) error {
	var (
		folder  = flag.String("folder", "tools/experiment", "`folder` with recordings, bills and limits")
		doc     = flag.String("doc", "", "`document` whose tables are renewed")
		seen    = flag.Bool("seen", false, "only print, without the pairs that are held out from those who choose rules")
		tight   = flag.Bool("tighten", false, "set limits to what is reached")
		anew    = flag.Bool("record", false, "install the clients and run them, all runs or the named ones")
		taking  = flag.Bool("keep", false, "take what the runs left, and all recordings")
		clients = flag.String("clients", "bin/clients", "`folder` with the clients, by name")
		left    = flag.String("runs", "bin/runs", "`folder` for what runs leave")
		name    = flag.String("inside", "", "for -record itself: the `run` to do in this namespace and folder")
	)
	flag.Func("client", "another `CLIENT=VERSION` to install", setVersion)
	flag.Parse()
	var chosen []*run
	for _, r := range runs {
		if *name == r.Name {
			return inside(ctx, r, *clients)
		}
		if flag.NArg() == 0 || slices.Contains(flag.Args(), r.Name) {
			chosen = append(chosen, r)
		}
	}
	if n := flag.NArg(); n > len(chosen) {
		return fmt.Errorf("of the runs %s only %d are known", strings.Join(flag.Args(), ", "), len(chosen))
	}
	switch {
	case *taking:
		for _, r := range chosen {
			if err := keep(r, filepath.Join(*left, r.Name), *folder, true); err != nil {
				return err
			}
		}
		return nil
	case *anew:
		return renew(ctx, chosen, *clients, *left, *folder)
	}
	return compare(ctx, *folder, *doc, *seen, *tight)
}

// renew runs clients and takes their bills, and the recordings that are kept.
func renew(ctx context.Context, chosen []*run, clients, left, folder string) error {
	clients, err := filepath.Abs(clients)
	if err != nil {
		return err
	}
	if err := install(ctx, clients, chosen); err != nil {
		return err
	}
	for _, r := range chosen {
		begun, into := time.Now(), filepath.Join(left, r.Name)
		if err := record(ctx, r, clients, into); err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		fmt.Printf("%s: %.0f s\n", r.Name, time.Since(begun).Seconds())
		if err := keep(r, into, folder, r.Kept); err != nil {
			return err
		}
	}
	return nil
}

// compare predicts all pairs, prints the outcomes, and returns an error if something is worse than it was.
func compare(ctx context.Context, folder, doc string, seen, tight bool) error {
	list, err := judge(ctx, folder)
	if err != nil {
		return err
	}
	if seen {
		list = slices.DeleteFunc(list, func(o *outcome) bool { return o.heldOut() })
	}
	ls := lines(list)
	fmt.Print(eachPair(list), "\n", groups(ls))
	if seen {
		return nil
	}
	limit, err := readLimits(folder)
	if err != nil {
		return err
	}
	if tight {
		limit.tighten(ls)
		if err := limit.write(folder); err != nil {
			return err
		}
	}
	if doc != "" {
		if err := document(doc, ls); err != nil {
			return err
		}
	}
	if worse := limit.check(ls); worse != nil {
		return errors.New(strings.Join(worse, "\n"))
	}
	return nil
}
