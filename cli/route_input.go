package cli

import (
	"fmt"
	"os"

	"heddle/cli/compare"
	"heddle/fabric"
	"heddle/fabric/pattern"
	"heddle/route"
)

// what is the pattern, or the file of groups.
func (f *routeFlags) what() string {
	if f.pattern != "" {
		return f.pattern
	}
	return "file:" + f.groups
}

func (a *app) problem(s source, f routeFlags) (*compare.Problem, error) {
	if len(s.Switches()) == 0 {
		return nil, fmt.Errorf("%s: no switch, nothing to route", s.name)
	}
	groups, err := a.readGroups(s, f)
	if err != nil {
		return nil, err
	}
	order, err := chooseOrder(s, f)
	if err != nil {
		return nil, err
	}
	network, err := compare.NewNetwork(s.Fabric, order)
	if err != nil {
		return nil, err
	}
	return network.Problem(groups), nil
}

func (a *app) readGroups(s source, f routeFlags) ([]fabric.Group, error) {
	switch f.groups {
	case "":
		return pattern.Generate(s.Fabric, f.pattern)
	case "-":
		return pattern.ReadGroups(a.in, "stdin", s.Fabric)
	}
	file, err := os.Open(f.groups)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return pattern.ReadGroups(file, f.groups, s.Fabric)
}

// chooseOrder is the order of valley-free trees, none where they are not asked
// for.
func chooseOrder(s source, f routeFlags) (route.Order, error) {
	if !f.valleyFree {
		return nil, nil
	}
	g := route.NewGraph(s.Fabric, route.Selection{MulticastOnly: true})
	if f.order == "auto" {
		return route.OrderFor(g), nil
	}
	ranks, ok := route.Ranks(g)
	if !ok {
		return nil, fmt.Errorf("%s has no ranks: it is not layered as a tree; --order auto finds another order", s.name)
	}
	return ranks, nil
}
