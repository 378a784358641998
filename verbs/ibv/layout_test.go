//go:build linux && (amd64 || arm64)

package ibv

import (
	_ "embed"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"heddle/verbs"
)

// layout44 is what testdata/layout.c prints with the headers of rdma-core 44.
//
//go:embed testdata/layout-44.txt
var layout44 string

// structures are ours by C's names; those that only the library allocates have
// no size.
var structures = []struct {
	name  string
	value any
	sized bool
}{
	{"ibv_device", ibvDevice{}, true},
	{"ibv_context", ibvContext{}, true},
	{"ibv_device_attr", ibvDeviceAttr{}, true},
	{"ibv_device_attr_ex", ibvDeviceAttrEx{}, true},
	{"ibv_port_attr", ibvPortAttr{}, false},
	{"ibv_gid_entry", ibvGIDEntry{}, true},
	{"ibv_pd", ibvPD{}, false},
	{"ibv_mr", ibvMR{}, false},
	{"ibv_mw", ibvMW{}, false},
	{"ibv_mw_bind", ibvMWBind{}, true},
	{"ibv_dm", ibvDM{}, false},
	{"ibv_alloc_dm_attr", ibvAllocDMAttr{}, true},
	{"ibv_comp_channel", ibvChannel{}, false},
	{"ibv_cq", ibvCQ{}, false},
	{"ibv_srq", ibvSRQ{}, false},
	{"ibv_qp", ibvQP{}, false},
	{"ibv_qp_init_attr", ibvQPInitAttr{}, true},
	{"ibv_qp_init_attr_ex", ibvQPInitAttrEx{}, true},
	{"ibv_ah_attr", ibvAHAttr{}, true},
	{"ibv_qp_attr", ibvQPAttr{}, true},
	{"ibv_srq_init_attr", ibvSRQInitAttr{}, true},
	{"ibv_send_wr", ibvSendWR{}, true},
	{"ibv_recv_wr", ibvRecvWR{}, true},
	{"ibv_wc", ibvWC{}, true},
	{"ibv_async_event", ibvEvent{}, true},
}

// constants are ours by C's names.
var constants = map[string]uint32{
	"IBV_TRANSPORT_IB": transportIB, "IBV_TRANSPORT_IWARP": transportIWARP,
	"IBV_ATOMIC_HCA": atomicHCA, "IBV_ATOMIC_GLOB": atomicGlob,
	"verbs_context.reg_dm_mr": beforeRegDM, "verbs_context.alloc_dm": beforeAllocDM, "verbs_context.free_dm": beforeFreeDM,
	"verbs_context.query_device_ex": beforeQueryDeviceEx, "verbs_context.create_qp_ex": beforeCreateQPEx, "verbs_context.sz": beforeSize,
	"IBV_DEVICE_MEM_WINDOW":         capWindow1,
	"IBV_DEVICE_MEM_WINDOW_TYPE_2A": capWindow2A, "IBV_DEVICE_MEM_WINDOW_TYPE_2B": capWindow2B,
	"IBV_PORT_ACTIVE": 4, "IBV_LINK_LAYER_INFINIBAND": linkInfiniBand, "IBV_LINK_LAYER_ETHERNET": linkEthernet,
	"IBV_GID_TYPE_IB": 0, "IBV_GID_TYPE_ROCE_V1": 1, "IBV_GID_TYPE_ROCE_V2": 2,
	"IBV_QPT_RC": qpTypeRC, "IBV_QPT_UC": qpTypeRC + 1, "IBV_QPT_UD": qpTypeRC + 2,
	"IBV_QPS_RESET": 0, "IBV_QPS_ERR": 6,
	"IBV_QP_STATE": qpStateFlag, "IBV_QP_ACCESS_FLAGS": qpAccess, "IBV_QP_PKEY_INDEX": qpPKey, "IBV_QP_PORT": qpPort,
	"IBV_QP_QKEY": qpQKey, "IBV_QP_AV": qpAV, "IBV_QP_PATH_MTU": qpPathMTU, "IBV_QP_TIMEOUT": qpTimeout,
	"IBV_QP_RETRY_CNT": qpRetries, "IBV_QP_RNR_RETRY": qpRNRRetries, "IBV_QP_RQ_PSN": qpRecvPSN,
	"IBV_QP_MAX_QP_RD_ATOMIC": qpReads, "IBV_QP_MIN_RNR_TIMER": qpRNRTimer, "IBV_QP_SQ_PSN": qpSendPSN,
	"IBV_QP_MAX_DEST_RD_ATOMIC": qpDestReads, "IBV_QP_DEST_QPN": qpDestQPN,
	"IBV_ACCESS_LOCAL_WRITE": accessLocal, "IBV_ACCESS_REMOTE_WRITE": accessWrite, "IBV_ACCESS_REMOTE_READ": accessRead,
	"IBV_ACCESS_REMOTE_ATOMIC": accessAtomic, "IBV_ACCESS_MW_BIND": accessBind, "IBV_ACCESS_RELAXED_ORDERING": accessRelaxed,
	"IBV_ACCESS_ZERO_BASED": accessZeroBased,
	"IBV_MW_TYPE_1":         uint32(verbs.MWType1), "IBV_MW_TYPE_2": uint32(verbs.MWType2),
	"IBV_QP_INIT_ATTR_PD": qpWithPD, "IBV_QP_INIT_ATTR_CREATE_FLAGS": qpWithFlags, "IBV_QP_CREATE_BLOCK_SELF_MCAST_LB": qpBlockLoopback,
	"IBV_SRQ_LIMIT":     srqLimit,
	"IBV_WR_RDMA_WRITE": wrRDMAWrite, "IBV_WR_RDMA_WRITE_WITH_IMM": wrRDMAWriteImm, "IBV_WR_SEND": wrSend,
	"IBV_WR_SEND_WITH_IMM": wrSendImm, "IBV_WR_RDMA_READ": wrRDMARead, "IBV_WR_ATOMIC_CMP_AND_SWP": wrCompareSwap,
	"IBV_WR_ATOMIC_FETCH_AND_ADD": wrFetchAdd, "IBV_WR_LOCAL_INV": wrLocalInv, "IBV_WR_BIND_MW": wrBindMW,
	"IBV_SEND_FENCE": sendFence, "IBV_SEND_SIGNALED": sendSignaled, "IBV_SEND_SOLICITED": sendSolicited, "IBV_SEND_INLINE": sendInline,
	"IBV_WC_GENERAL_ERR": uint32(len(statuses) - 1), "IBV_WC_LOCAL_INV": uint32(len(operations) - 1),
	"IBV_WC_RECV": wcRecv, "IBV_WC_RECV_RDMA_WITH_IMM": wcRecvWriteImm,
	"IBV_WC_GRH": wcGRH, "IBV_WC_WITH_IMM": wcWithImm, "IBV_EVENT_GID_CHANGE": uint32(len(eventTypes) - 1),
}

// unions are fields that C has several names for: ours is the first part.
var unions = map[string]string{
	"ibv_send_wr.wr.rdma.remote_addr":   "ibv_send_wr.wr",
	"ibv_send_wr.wr.rdma.rkey":          "ibv_send_wr.wr+8",
	"ibv_send_wr.wr.atomic.remote_addr": "ibv_send_wr.wr",
	"ibv_send_wr.wr.atomic.compare_add": "ibv_send_wr.wr+8",
	"ibv_send_wr.wr.atomic.swap":        "ibv_send_wr.wr+16",
	"ibv_send_wr.wr.atomic.rkey":        "ibv_send_wr.wr+24",
	"ibv_send_wr.wr.ud.ah":              "ibv_send_wr.wr",
	"ibv_send_wr.wr.ud.remote_qpn":      "ibv_send_wr.wr+8",
	"ibv_send_wr.wr.ud.remote_qkey":     "ibv_send_wr.wr+12",
}

// TestLayout holds each offset, size and constant against the headers'.
func TestLayout(t *testing.T) {
	ours := make(map[string]uint64)
	for _, s := range structures {
		offsets(ours, s.name, reflect.TypeOf(s.value), 0)
		if s.sized {
			ours[s.name] = uint64(reflect.TypeOf(s.value).Size())
		}
	}
	for i := range uint64(4) {
		ours[fmt.Sprintf("ibv_send_wr.wr+%d", 8*i)] = ours["ibv_send_wr.wr"] + 8*i
	}
	ours["ibv_send_wr.wr+12"] = ours["ibv_send_wr.wr"] + 12
	// An SGE of package verbs is one of libibverbs.
	ours["ibv_sge"] = uint64(unsafe.Sizeof(verbs.SGE{}))
	ours["ibv_sge.addr"] = uint64(unsafe.Offsetof(verbs.SGE{}.Addr))
	ours["ibv_sge.length"] = uint64(unsafe.Offsetof(verbs.SGE{}.Length))
	ours["ibv_sge.lkey"] = uint64(unsafe.Offsetof(verbs.SGE{}.LKey))
	// The table is of amd64, whose mutex has 40 bytes.
	for _, after := range []string{"ibv_context", "ibv_context.abi_compat"} {
		ours[after] -= mutexSize - 40
	}
	for name, value := range constants {
		ours[name] = uint64(value)
	}
	var got strings.Builder
	for line := range strings.Lines(layout44) {
		name, _, _ := strings.Cut(line, " ")
		source := name
		if first, ok := unions[name]; ok {
			source = first
		}
		value, ok := ours[source]
		if !ok {
			t.Errorf("%s is not in our tables", name)
		}
		fmt.Fprintf(&got, "%s %d\n", name, value)
	}
	if diff := cmp.Diff(layout44, got.String()); diff != "" {
		t.Errorf("layout (-headers +ours):\n%s", diff)
	}
}

// offsets collects those of the fields that have C's name in their tag.
func offsets(into map[string]uint64, prefix string, s reflect.Type, base uintptr) {
	for f := range s.Fields() {
		name := f.Tag.Get("c")
		if name == "" {
			continue
		}
		name, at := prefix+"."+name, base+f.Offset
		into[name] = uint64(at)
		if f.Type.Kind() == reflect.Struct {
			offsets(into, name, f.Type, at)
		}
	}
}
