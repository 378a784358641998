package cli

import (
	"errors"
	"fmt"
	"strings"

	"heddle/verbs"
	"heddle/verbs/shm"
	"heddle/verbs/sim"
	"heddle/verbs/soft"
)

// providers is the registry of the kinds of devices.
func providers() []verbs.Provider {
	return append([]verbs.Provider{simulated{}, shm.Provider{}, soft.Provider{}}, providersOfLibraries()...)
}

// simulated is the kind "sim": for each sort of network a device, on a network of
// its own, whose time goes on when somebody waits.
type simulated struct{}

func (simulated) Name() string { return "sim" }

func (simulated) Devices() (list []verbs.Device, err error) {
	for _, p := range sim.Profiles() {
		n, err := sim.New(sim.Config{Profile: p, Seed: 1})
		if err != nil {
			return nil, err
		}
		d, err := n.Add(p.Name)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// provider finds one by its name.
func provider(name string) (verbs.Provider, error) {
	var names []string
	for _, p := range providers() {
		if p.Name() == name {
			return p, nil
		}
		names = append(names, p.Name())
	}
	return nil, usagef("no provider %q; there are %s", name, strings.Join(names, ", "))
}

// device finds a device of a provider, the first where the name is empty.
func device(p verbs.Provider, name string) (verbs.Device, error) {
	list, err := p.Devices()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name(), err)
	}
	var names []string
	for _, d := range list {
		if name == "" || d.Name() == name {
			return d, nil
		}
		names = append(names, d.Name())
	}
	if names == nil {
		return nil, fmt.Errorf("%s: %w", p.Name(), verbs.ErrNoDevice)
	}
	return nil, fmt.Errorf("%s has no device %q, it has %s: %w", p.Name(), name, strings.Join(names, ", "), verbs.ErrNoDevice)
}

// assumptions are the values of --assume.
func assumptions(names []string) (list []verbs.Assumption, err error) {
	for _, name := range names {
		a, ok := map[string]verbs.Assumption{
			"write-order": verbs.AssumeWriteOrder, "fetch-order": verbs.AssumeFetchOrder,
			"placement-order": verbs.AssumePlacementOrder, "completion-order": verbs.AssumeCompletionOrder,
			"delivery-order": verbs.AssumeDeliveryOrder,
		}[name]
		if !ok {
			return nil, usagef("--assume %s: want %s", name, assumeHelp)
		}
		list = append(list, a)
	}
	return list, nil
}

const assumeHelp = "write-order, fetch-order, placement-order, completion-order or delivery-order"

// absent tells whether an error says that there is no device of a kind.
func absent(err error) bool { return errors.Is(err, verbs.ErrNoDevice) }
