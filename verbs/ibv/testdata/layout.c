/* layout prints how libibverbs' structures and constants are laid out, one
 * "name value" a line, for the table that layout_test.go holds the Go side
 * against. It needs rdma-core's headers (libibverbs-dev):
 *
 *	cc -o layout layout.c && ./layout >layout-44.txt
 */
#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdio.h>

#define SIZE(type) printf("%s %zu\n", #type, sizeof(struct type))
#define AT(type, field) printf("%s.%s %zu\n", #type, #field, offsetof(struct type, field))
/* how far before ibv_context a function of verbs_context is */
#define BEFORE(field) printf("verbs_context.%s %zu\n", #field, \
	offsetof(struct verbs_context, context) - offsetof(struct verbs_context, field))
#define IS(name) printf("%s %u\n", #name, (unsigned)name)

int main(void)
{
	AT(ibv_device, node_type);
	AT(ibv_device, transport_type);
	AT(ibv_device, name);
	AT(ibv_device, dev_name);
	AT(ibv_device, dev_path);
	AT(ibv_device, ibdev_path);
	SIZE(ibv_device);

	AT(ibv_context, device);
	BEFORE(reg_dm_mr);
	BEFORE(alloc_dm);
	BEFORE(free_dm);
	BEFORE(query_device_ex);
	BEFORE(create_qp_ex);
	BEFORE(sz);
	AT(ibv_context, ops.alloc_mw);
	AT(ibv_context, ops.bind_mw);
	AT(ibv_context, ops.dealloc_mw);
	AT(ibv_context, ops.poll_cq);
	AT(ibv_context, ops.req_notify_cq);
	AT(ibv_context, ops.post_srq_recv);
	AT(ibv_context, ops.post_send);
	AT(ibv_context, ops.post_recv);
	AT(ibv_context, cmd_fd);
	AT(ibv_context, async_fd);
	AT(ibv_context, num_comp_vectors);
	AT(ibv_context, abi_compat);
	SIZE(ibv_context);

	AT(ibv_device_attr, fw_ver);
	AT(ibv_device_attr, node_guid);
	AT(ibv_device_attr, max_mr_size);
	AT(ibv_device_attr, vendor_id);
	AT(ibv_device_attr, vendor_part_id);
	AT(ibv_device_attr, max_qp);
	AT(ibv_device_attr, max_qp_wr);
	AT(ibv_device_attr, device_cap_flags);
	AT(ibv_device_attr, max_sge);
	AT(ibv_device_attr, max_cq);
	AT(ibv_device_attr, max_cqe);
	AT(ibv_device_attr, max_mr);
	AT(ibv_device_attr, max_pd);
	AT(ibv_device_attr, max_qp_rd_atom);
	AT(ibv_device_attr, max_qp_init_rd_atom);
	AT(ibv_device_attr, atomic_cap);
	AT(ibv_device_attr, max_mw);
	AT(ibv_device_attr, max_mcast_grp);
	AT(ibv_device_attr, max_ah);
	AT(ibv_device_attr, max_srq);
	AT(ibv_device_attr, max_srq_wr);
	AT(ibv_device_attr, max_srq_sge);
	AT(ibv_device_attr, phys_port_cnt);
	SIZE(ibv_device_attr);

	AT(ibv_device_attr_ex, max_dm_size);
	SIZE(ibv_device_attr_ex);

	AT(ibv_port_attr, state);
	AT(ibv_port_attr, max_mtu);
	AT(ibv_port_attr, active_mtu);
	AT(ibv_port_attr, gid_tbl_len);
	AT(ibv_port_attr, max_msg_sz);
	AT(ibv_port_attr, pkey_tbl_len);
	AT(ibv_port_attr, lid);
	AT(ibv_port_attr, sm_lid);
	AT(ibv_port_attr, lmc);
	AT(ibv_port_attr, active_width);
	AT(ibv_port_attr, active_speed);
	AT(ibv_port_attr, link_layer);

	AT(ibv_gid_entry, gid);
	AT(ibv_gid_entry, gid_index);
	AT(ibv_gid_entry, port_num);
	AT(ibv_gid_entry, gid_type);
	AT(ibv_gid_entry, ndev_ifindex);
	SIZE(ibv_gid_entry);

	AT(ibv_pd, context);
	AT(ibv_mr, context);
	AT(ibv_mr, pd);
	AT(ibv_mr, addr);
	AT(ibv_mr, length);
	AT(ibv_mr, lkey);
	AT(ibv_mr, rkey);
	AT(ibv_mw, context);
	AT(ibv_mw, pd);
	AT(ibv_mw, rkey);
	AT(ibv_mw, type);
	AT(ibv_mw_bind, wr_id);
	AT(ibv_mw_bind, send_flags);
	AT(ibv_mw_bind, bind_info.mr);
	AT(ibv_mw_bind, bind_info.addr);
	AT(ibv_mw_bind, bind_info.length);
	AT(ibv_mw_bind, bind_info.mw_access_flags);
	SIZE(ibv_mw_bind);
	AT(ibv_dm, context);
	AT(ibv_dm, memcpy_to_dm);
	AT(ibv_dm, memcpy_from_dm);
	AT(ibv_alloc_dm_attr, length);
	AT(ibv_alloc_dm_attr, log_align_req);
	AT(ibv_alloc_dm_attr, comp_mask);
	SIZE(ibv_alloc_dm_attr);
	AT(ibv_comp_channel, context);
	AT(ibv_comp_channel, fd);
	AT(ibv_cq, context);
	AT(ibv_cq, channel);
	AT(ibv_cq, cqe);
	AT(ibv_srq, context);
	AT(ibv_srq, pd);

	AT(ibv_qp, context);
	AT(ibv_qp, pd);
	AT(ibv_qp, send_cq);
	AT(ibv_qp, recv_cq);
	AT(ibv_qp, srq);
	AT(ibv_qp, qp_num);
	AT(ibv_qp, qp_type);

	AT(ibv_qp_init_attr, qp_context);
	AT(ibv_qp_init_attr, send_cq);
	AT(ibv_qp_init_attr, recv_cq);
	AT(ibv_qp_init_attr, srq);
	AT(ibv_qp_init_attr, cap.max_send_wr);
	AT(ibv_qp_init_attr, cap.max_recv_wr);
	AT(ibv_qp_init_attr, cap.max_send_sge);
	AT(ibv_qp_init_attr, cap.max_recv_sge);
	AT(ibv_qp_init_attr, cap.max_inline_data);
	AT(ibv_qp_init_attr, qp_type);
	AT(ibv_qp_init_attr, sq_sig_all);
	SIZE(ibv_qp_init_attr);
	AT(ibv_qp_init_attr_ex, comp_mask);
	AT(ibv_qp_init_attr_ex, pd);
	AT(ibv_qp_init_attr_ex, create_flags);
	SIZE(ibv_qp_init_attr_ex);

	AT(ibv_ah_attr, grh.dgid);
	AT(ibv_ah_attr, grh.flow_label);
	AT(ibv_ah_attr, grh.sgid_index);
	AT(ibv_ah_attr, grh.hop_limit);
	AT(ibv_ah_attr, grh.traffic_class);
	AT(ibv_ah_attr, dlid);
	AT(ibv_ah_attr, sl);
	AT(ibv_ah_attr, src_path_bits);
	AT(ibv_ah_attr, static_rate);
	AT(ibv_ah_attr, is_global);
	AT(ibv_ah_attr, port_num);
	SIZE(ibv_ah_attr);

	AT(ibv_qp_attr, qp_state);
	AT(ibv_qp_attr, path_mtu);
	AT(ibv_qp_attr, qkey);
	AT(ibv_qp_attr, rq_psn);
	AT(ibv_qp_attr, sq_psn);
	AT(ibv_qp_attr, dest_qp_num);
	AT(ibv_qp_attr, qp_access_flags);
	AT(ibv_qp_attr, ah_attr);
	AT(ibv_qp_attr, pkey_index);
	AT(ibv_qp_attr, max_rd_atomic);
	AT(ibv_qp_attr, max_dest_rd_atomic);
	AT(ibv_qp_attr, min_rnr_timer);
	AT(ibv_qp_attr, port_num);
	AT(ibv_qp_attr, timeout);
	AT(ibv_qp_attr, retry_cnt);
	AT(ibv_qp_attr, rnr_retry);
	SIZE(ibv_qp_attr);

	AT(ibv_srq_init_attr, srq_context);
	AT(ibv_srq_init_attr, attr.max_wr);
	AT(ibv_srq_init_attr, attr.max_sge);
	AT(ibv_srq_init_attr, attr.srq_limit);
	SIZE(ibv_srq_init_attr);

	AT(ibv_sge, addr);
	AT(ibv_sge, length);
	AT(ibv_sge, lkey);
	SIZE(ibv_sge);

	AT(ibv_send_wr, wr_id);
	AT(ibv_send_wr, next);
	AT(ibv_send_wr, sg_list);
	AT(ibv_send_wr, num_sge);
	AT(ibv_send_wr, opcode);
	AT(ibv_send_wr, send_flags);
	AT(ibv_send_wr, imm_data);
	AT(ibv_send_wr, wr.rdma.remote_addr);
	AT(ibv_send_wr, wr.rdma.rkey);
	AT(ibv_send_wr, wr.atomic.remote_addr);
	AT(ibv_send_wr, wr.atomic.compare_add);
	AT(ibv_send_wr, wr.atomic.swap);
	AT(ibv_send_wr, wr.atomic.rkey);
	AT(ibv_send_wr, wr.ud.ah);
	AT(ibv_send_wr, wr.ud.remote_qpn);
	AT(ibv_send_wr, wr.ud.remote_qkey);
	AT(ibv_send_wr, bind_mw.mw);
	AT(ibv_send_wr, bind_mw.rkey);
	AT(ibv_send_wr, bind_mw.bind_info.mr);
	AT(ibv_send_wr, bind_mw.bind_info.addr);
	AT(ibv_send_wr, bind_mw.bind_info.length);
	AT(ibv_send_wr, bind_mw.bind_info.mw_access_flags);
	SIZE(ibv_send_wr);

	AT(ibv_recv_wr, wr_id);
	AT(ibv_recv_wr, next);
	AT(ibv_recv_wr, sg_list);
	AT(ibv_recv_wr, num_sge);
	SIZE(ibv_recv_wr);

	AT(ibv_wc, wr_id);
	AT(ibv_wc, status);
	AT(ibv_wc, opcode);
	AT(ibv_wc, vendor_err);
	AT(ibv_wc, byte_len);
	AT(ibv_wc, imm_data);
	AT(ibv_wc, qp_num);
	AT(ibv_wc, src_qp);
	AT(ibv_wc, wc_flags);
	SIZE(ibv_wc);

	AT(ibv_async_event, element);
	AT(ibv_async_event, event_type);
	SIZE(ibv_async_event);

	IS(IBV_TRANSPORT_IB);
	IS(IBV_TRANSPORT_IWARP);
	IS(IBV_ATOMIC_HCA);
	IS(IBV_ATOMIC_GLOB);
	IS(IBV_DEVICE_MEM_WINDOW);
	IS(IBV_DEVICE_MEM_WINDOW_TYPE_2A);
	IS(IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	IS(IBV_PORT_ACTIVE);
	IS(IBV_LINK_LAYER_INFINIBAND);
	IS(IBV_LINK_LAYER_ETHERNET);
	IS(IBV_GID_TYPE_IB);
	IS(IBV_GID_TYPE_ROCE_V1);
	IS(IBV_GID_TYPE_ROCE_V2);
	IS(IBV_QPT_RC);
	IS(IBV_QPT_UC);
	IS(IBV_QPT_UD);
	IS(IBV_QPS_RESET);
	IS(IBV_QPS_ERR);
	IS(IBV_QP_STATE);
	IS(IBV_QP_ACCESS_FLAGS);
	IS(IBV_QP_PKEY_INDEX);
	IS(IBV_QP_PORT);
	IS(IBV_QP_QKEY);
	IS(IBV_QP_AV);
	IS(IBV_QP_PATH_MTU);
	IS(IBV_QP_TIMEOUT);
	IS(IBV_QP_RETRY_CNT);
	IS(IBV_QP_RNR_RETRY);
	IS(IBV_QP_RQ_PSN);
	IS(IBV_QP_MAX_QP_RD_ATOMIC);
	IS(IBV_QP_MIN_RNR_TIMER);
	IS(IBV_QP_SQ_PSN);
	IS(IBV_QP_MAX_DEST_RD_ATOMIC);
	IS(IBV_QP_DEST_QPN);
	IS(IBV_ACCESS_LOCAL_WRITE);
	IS(IBV_ACCESS_REMOTE_WRITE);
	IS(IBV_ACCESS_REMOTE_READ);
	IS(IBV_ACCESS_REMOTE_ATOMIC);
	IS(IBV_ACCESS_MW_BIND);
	IS(IBV_ACCESS_RELAXED_ORDERING);
	IS(IBV_ACCESS_ZERO_BASED);
	IS(IBV_MW_TYPE_1);
	IS(IBV_MW_TYPE_2);
	IS(IBV_QP_INIT_ATTR_PD);
	IS(IBV_QP_INIT_ATTR_CREATE_FLAGS);
	IS(IBV_QP_CREATE_BLOCK_SELF_MCAST_LB);
	IS(IBV_SRQ_LIMIT);
	IS(IBV_WR_RDMA_WRITE);
	IS(IBV_WR_RDMA_WRITE_WITH_IMM);
	IS(IBV_WR_SEND);
	IS(IBV_WR_SEND_WITH_IMM);
	IS(IBV_WR_RDMA_READ);
	IS(IBV_WR_ATOMIC_CMP_AND_SWP);
	IS(IBV_WR_ATOMIC_FETCH_AND_ADD);
	IS(IBV_WR_LOCAL_INV);
	IS(IBV_WR_BIND_MW);
	IS(IBV_SEND_FENCE);
	IS(IBV_SEND_SIGNALED);
	IS(IBV_SEND_SOLICITED);
	IS(IBV_SEND_INLINE);
	IS(IBV_WC_GENERAL_ERR);
	IS(IBV_WC_LOCAL_INV);
	IS(IBV_WC_RECV);
	IS(IBV_WC_RECV_RDMA_WITH_IMM);
	IS(IBV_WC_GRH);
	IS(IBV_WC_WITH_IMM);
	IS(IBV_EVENT_GID_CHANGE);
	return 0;
}
